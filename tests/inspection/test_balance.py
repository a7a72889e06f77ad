import numpy as np
import pytest

from dpforest import DiPriMeForestClassifier, RandomDecisionForestClassifier, RandomDecisionTreesClassifier
from dpforest.inspection import leaf_occupancy, left_fractions, plot_balance
from dpforest.privacy import PrivacyLeakWarning

X = np.random.default_rng(0).normal(0.3, 0.05, (5000, 3)).clip(0, 1)
Y = (X[:, 0] > 0.3).astype(int)
DECLARED = {"bounds": (0, 1), "classes": [0, 1], "max_depth": 4, "random_state": 0}


@pytest.fixture(scope="module")
def forests():
    with pytest.warns(PrivacyLeakWarning):
        return {
            "median": DiPriMeForestClassifier(10, epsilon=4.0, **DECLARED).fit(X, Y),
            "random": RandomDecisionTreesClassifier(10, epsilon=4.0, **DECLARED).fit(X, Y),
        }


def test_median_splits_are_balanced_and_random_ones_are_not(forests):
    """The claim of Sec. 4.3 on data that fill a small part of their public range."""
    spread = {name: np.abs(left_fractions(model, X) - 0.5).mean() for name, model in forests.items()}
    assert spread["median"] < 0.1 < spread["random"]
    assert leaf_occupancy(forests["median"], X).max() < leaf_occupancy(forests["random"], X).max()


def test_released_counts_tell_nearly_the_same(forests):
    model = forests["median"]
    np.testing.assert_allclose(leaf_occupancy(model).sum(axis=1), 1)
    assert np.abs(leaf_occupancy(model) - leaf_occupancy(model, X)).max() < 0.1


def test_labels_alone_do_not_tell(forests):
    with pytest.warns(PrivacyLeakWarning):
        model = RandomDecisionForestClassifier(5, **DECLARED).fit(X, Y)
    with pytest.raises(ValueError, match="give rows X"):
        leaf_occupancy(model)
    assert leaf_occupancy(model, X).shape == (5, 16)


def test_a_single_leaf_has_no_cuts(forests):
    with pytest.warns(PrivacyLeakWarning):
        model = DiPriMeForestClassifier(2, **{**DECLARED, "max_depth": 0}).fit(X, Y)
    assert left_fractions(model, X).size == 0


def test_the_plot_draws_a_line_and_a_histogram_per_forest(forests, tmp_path):
    figure = plot_balance(forests, X)
    leaves, cuts = figure.axes
    assert [text.get_text() for text in leaves.get_legend().get_texts()] == ["median", "random"]
    assert len(cuts.patches) == 2
    figure.savefig(tmp_path / "balance.png")
    assert (tmp_path / "balance.png").stat().st_size > 5000
