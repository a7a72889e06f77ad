"""A budget that its owner locked to a schema pays for fits with that schema only, from Python as well."""

import numpy as np
import pandas as pd
import pytest

from dpforest import DiPriMeForestClassifier, PrivateSearchCV
from dpforest.privacy import BudgetAccountant
from dpforest.schema import Classes, Numeric, Schema, SchemaError

FRAME = pd.DataFrame({"age": [20.0, 40.0, 60.0, 80.0], "outcome": ["home", "died", "home", "died"]})
LOCKED = Schema({"age": Numeric(18, 100)}, Classes(["home", "died"]))
WIDER = Schema({"age": Numeric(0, 120)}, Classes(["home", "died"]))


def budget(tmp_path, schema):
    return BudgetAccountant.create(tmp_path / "budget.db", dataset="patients", epsilon=3, schema=schema)


def forest(schema, accountant):
    return DiPriMeForestClassifier(2, epsilon=1, max_depth=1, schema=schema, accountant=accountant)


@pytest.mark.parametrize("document", [LOCKED, LOCKED.to_dict("outcome")], ids=["bare", "named"])
def test_fits_with_another_schema_are_refused_and_cost_nothing(tmp_path, document):
    accountant = budget(tmp_path, document)
    with pytest.raises(SchemaError, match=r"made for another schema.*Nothing was charged"):
        forest(WIDER, accountant).fit(FRAME[["age"]], FRAME["outcome"])
    with accountant, pytest.raises(SchemaError, match="another schema"):
        forest(WIDER, None).fit(FRAME[["age"]], FRAME["outcome"])
    search = PrivateSearchCV([forest(LOCKED, None), forest(WIDER, None)], accountant=accountant)
    with pytest.raises(SchemaError, match="another schema"):
        search.fit(FRAME[["age"]], FRAME["outcome"])
    assert len(accountant) == 0
    forest(LOCKED, accountant).fit(FRAME[["age"]], FRAME["outcome"])
    assert len(accountant) == 1


def test_a_lock_that_names_the_target_needs_a_column_of_that_name(tmp_path):
    accountant = budget(tmp_path, LOCKED.to_dict("outcome"))
    with pytest.raises(SchemaError, match="y must be a column of that name"):
        forest(LOCKED, accountant).fit(FRAME[["age"]], FRAME["outcome"].to_numpy())
    with pytest.raises(SchemaError, match="another schema"):
        forest(LOCKED, accountant).fit(FRAME[["age"]], FRAME["outcome"].rename("readmitted"))
    assert len(accountant) == 0
    FRAME.to_csv(tmp_path / "visits.csv", index=False)
    forest(LOCKED, accountant).fit(tmp_path / "visits.csv", "outcome")
    assert len(accountant) == 1


def test_a_lock_without_a_name_takes_arrays(tmp_path):
    accountant = budget(tmp_path, LOCKED)
    forest(LOCKED, accountant).fit(np.array(FRAME[["age"]]), np.array(FRAME["outcome"]))
    short = DiPriMeForestClassifier(2, bounds=(0, 1), classes=[0, 1], accountant=accountant)
    with pytest.raises(SchemaError, match="another schema"):
        short.fit(np.zeros((4, 1)), [0, 1, 0, 1])
    assert len(accountant) == 1


def test_a_feature_may_be_called_target(tmp_path):
    schema = Schema({"target": Numeric(18, 100)}, Classes(["home", "died"]))
    accountant = budget(tmp_path, schema.to_dict("outcome"))
    forest(schema, accountant).fit(FRAME[["age"]].rename(columns={"age": "target"}), FRAME["outcome"])
    assert len(accountant) == 1
