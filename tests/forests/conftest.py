import numpy as np
import pytest

from dpforest import DiPriMeForestClassifier, DiPriMeForestRegressor
from dpforest.schema import Classes, Nominal, Numeric, Range, Schema

FEATURES = {"age": Numeric(0, 100), "ward": Nominal(["a", "b", "c"]), "crp": Numeric(0, 1)}


@pytest.fixture
def patients():
    """A mixed table with missing and undeclared values, two classes and a number to predict."""
    import pandas as pd

    rng = np.random.default_rng(0)
    n = 3000
    X = pd.DataFrame(
        {"age": rng.uniform(0, 100, n), "ward": rng.choice(list("abcz"), n), "crp": rng.random(n)}
    )
    y = np.where(X["age"] + 30 * (X["ward"] == "a") > 60, "died", "home")
    target = X["age"].to_numpy() / 100
    X.loc[::10, "crp"] = np.nan
    X.loc[::17, "ward"] = None
    return X, y, target


@pytest.fixture(params=["classifier", "regressor"])
def model(request):
    """An estimator with a declared schema, and the name of its target."""
    if request.param == "classifier":
        return DiPriMeForestClassifier(schema=Schema(FEATURES, Classes(["home", "died"])))
    return DiPriMeForestRegressor(schema=Schema(FEATURES, Range(0, 1)))


def fit(model, patients, **changes):
    X, label, target = patients
    return model.set_params(**changes).fit(X, label if "Classifier" in type(model).__name__ else target)
