"""Parameters with the papers' own forms: each changes the form or is refused; none is passed over."""

import inspect

import numpy as np
import pytest

from dpforest.forests.registry import ESTIMATORS
from dpforest.schema import Schema

N_ROWS, N_FEATURES = 600, 5
BOTH = {"n_features": N_FEATURES}
NUMBERS = Schema.from_bounds((0, 1), target_range=(0, 1), **BOTH)
CLASSES = Schema.from_bounds((0, 1), classes=[0, 1, 2], **BOTH)
PUBLIC = {
    *("schema", "bounds", "classes", "target_bounds"),  # what is declared
    *("accountant", "on_leak", "n_jobs", "random_state", "verbose", "as_published"),  # how it is run
}
OTHERS = {  # another value than the default
    "bins": 4,
    "class_weight": "balanced",
    "criterion": "max_operator",
    "delta": 1e-6,
    "disjoint": False,
    "epsilon": 0.3,
    "expected_leaf_rows": 3,
    "feature_privacy": False,
    "label_mechanism": "exponential",
    "max_depth": 2,
    "max_features": 1,
    "max_rows_per_person": 3,
    "n_estimators": 3,
    "n_first": 2,
    "min_labels": 3,
    "n_neighbors": 2,
    "n_second": 2,
    "neighboring": "replace_one",
    "persons_in_both": True,
    "pruning": False,
    "regularization": 5.0,
    "split_share": 0.2,
    "threshold": 0.3,
    "variant": "permute_and_flip",
    "version": "2020",
    "voting": "probabilistic",
}
MATTERS_WITH = {
    "criterion": {"epsilon": 50.0},  # with less some trees are not split
    "max_features": {"variant": "exponential"},
    "pruning": {"max_depth": 3, "epsilon": 50.0},
}
NO_PAPER_HAS = ("delta", "max_rows_per_person", "neighboring")
WITH_FORM = sorted(
    name for name in ESTIMATORS if "as_published" not in ESTIMATORS[name]._rules
    or ESTIMATORS[name]._rules["as_published"][1](True)
)  # fmt: skip


def released(cls, **parameters):
    """Fit to rows that all forms take; return what the form predicts and adds up for others."""
    rng = np.random.default_rng(3)
    X = rng.random((2 * N_ROWS, N_FEATURES))
    noisy = X[:, 0] + 0.4 * rng.random(2 * N_ROWS)
    numeric = cls._task == "regression"
    y = noisy / 1.4 if numeric else (2.99 * noisy / 1.4).astype(int)
    if not numeric and hasattr(cls, "_unlabelled_code"):
        y[:N_ROWS:2] = -1
    if "version" in parameters:
        parameters["variant"] = "exponential"  # the only one of the first version
    schema = NUMBERS if numeric else CLASSES
    model = cls(**parameters, schema=schema, as_published=True, random_state=1)
    model.fit(X[:N_ROWS], y[:N_ROWS])
    return np.column_stack([model.predict(X), model.published_.votes(X)])


@pytest.mark.filterwarnings("ignore::dpforest.privacy.PrivacyLeakWarning")
@pytest.mark.parametrize("name", WITH_FORM)
def test_every_parameter_counts_or_is_refused(name):
    cls = ESTIMATORS[name]
    known = inspect.signature(cls).parameters
    usual = released(cls)
    np.testing.assert_array_equal(released(cls), usual)  # so that what differs below is the parameter's doing
    passed_over, refused = [], {}
    for parameter in sorted(set(known) - PUBLIC):
        others = {key: value for key, value in MATTERS_WITH.get(parameter, {}).items() if key in known}
        usual = released(cls, **others) if others else usual
        try:
            other = OTHERS[parameter] if OTHERS[parameter] != known[parameter].default else "gini"
            changed = released(cls, **others, **{parameter: other})
        except ValueError as error:
            refused[parameter] = str(error)
        else:
            passed_over += [parameter] * bool(np.array_equal(changed, usual))
    assert passed_over == []
    assert {*NO_PAPER_HAS} <= {*refused}
    assert all(f"{parameter}=" in message for parameter, message in refused.items())
