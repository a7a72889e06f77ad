"""Under label privacy a label changes between declared ones unnoticed; who has one is public."""

import numpy as np
import pytest
from sklearn.base import clone

from dpforest.privacy import NeighboringRelation
from tests.forests.conftest import MODELS, patients_table

pytestmark = pytest.mark.filterwarnings("ignore::dpforest.privacy.PrivacyLeakWarning")

LABEL_PRIVATE = {
    name: model
    for name, model in MODELS.items()
    if model.privacy_plan().relation is NeighboringRelation.LABEL_CHANGE
}
X, LABELS, _ = patients_table(300)
LABELS = np.where(np.arange(300) % 3 == 0, LABELS, None)  # every third row is labelled


def released(model, labels):
    """Everything that a seeded fit releases without noise, and the shapes of the rest."""
    fitted = clone(model).set_params(random_state=0).fit(X, labels)
    looks = [(str(look.query), look.cost, dict(look.parameters)) for look in fitted.ledger_]
    shapes = {name: np.shape(value) for name, value in vars(fitted).items() if isinstance(value, np.ndarray)}
    return fitted, looks, shapes


def test_all_four_estimators_are_here():
    assert set(LABEL_PRIVATE) == {"SSPE-2", "PTE", "SSRDT", "TOP"}


@pytest.mark.parametrize("name", LABEL_PRIVATE)
def test_a_changed_label_changes_noisy_values_alone(name):
    other = LABELS.copy()
    other[30] = "home" if other[30] == "died" else "died"
    (before, looks, shapes), (after, other_looks, other_shapes) = (
        released(LABEL_PRIVATE[name], labels) for labels in (LABELS, other)
    )
    assert (looks, shapes) == (other_looks, other_shapes)
    for part in ("feature", "threshold", "left_sets"):
        np.testing.assert_array_equal(getattr(before.trees_, part), getattr(after.trees_, part))


@pytest.mark.parametrize("name", LABEL_PRIVATE)
@pytest.mark.parametrize("no_label", [-1, np.nan, "moved", ""], ids=repr)
def test_whatever_is_no_declared_label_is_none_at_all(name, no_label):
    other = LABELS.copy()
    other[[label is None for label in LABELS]] = no_label
    (before, looks, shapes), (after, other_looks, other_shapes) = (
        released(LABEL_PRIVATE[name], labels) for labels in (LABELS, other)
    )
    assert (looks, shapes) == (other_looks, other_shapes)
    np.testing.assert_array_equal(before.leaf_statistics_, after.leaf_statistics_)
    if hasattr(before, "transduction_"):
        np.testing.assert_array_equal(before.transduction_, after.transduction_)
        assert before.transduction_.shape == (200,)
