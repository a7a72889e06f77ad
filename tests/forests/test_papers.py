"""The papers' formulas, pinned on what the ledger of a fit says was run."""

import math
from fractions import Fraction

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.ensemble import ExtraTreesClassifier

import dpforest
from dpforest.forests.depths import binary_depth, depth_by_occupancy
from dpforest.privacy import BudgetAccountant, PrivacyError, PrivacyLeakWarning
from dpforest.schema import Classes, Nominal, Numeric, Schema
from tests.forests.conftest import BASELINES, MODELS, fit, is_classifier

DECLARED = {"bounds": (0, 1), "classes": [0, 1]}
X = np.random.default_rng(0).random((600, 4))
Y = (X[:, 0] > 0.5).astype(int)


def epsilons(model, word):
    """What the mechanisms whose purpose contains a word were run at."""
    return [e.parameters["epsilon"] for e in model.ledger_ if word in e.purpose]


def leaf_rate(model):
    """The a in exp(-a |k|) of the leaf noise, from its standard deviation."""
    variance = model.ledger_.events[-1].parameters["noise_sd"] ** 2
    return 2 * math.asinh(1 / math.sqrt(2 * variance))


@pytest.mark.parametrize(("variant", "word"), [("uniform", "medians"), ("exponential", "splits by gini")])
def test_dipri_me_divides_the_split_share_over_levels(variant, word):
    model = dpforest.DiPriMeForestClassifier(
        epsilon=3.0, max_depth=4, split_share=0.4, variant=variant, **DECLARED
    ).fit(X, Y)
    assert epsilons(model, word) == pytest.approx([0.4 * 3 / 4] * 4)
    assert leaf_rate(model) == pytest.approx(0.6 * 3, rel=1e-4)


def test_dipri_me_flip_pays_feature_and_median_separately():
    model = dpforest.DiPriMeForestClassifier(
        epsilon=2.0, max_depth=5, variant="permute_and_flip", **DECLARED
    ).fit(X, Y)
    assert epsilons(model, "features") == pytest.approx([0.5 * 2 / 10] * 5)
    assert epsilons(model, "medians") == pytest.approx([0.5 * 2 / 10] * 5)


def test_rows_in_every_tree_divide_the_budget_by_trees():
    model = dpforest.DiPriMeForestClassifier(8, epsilon=2.0, max_depth=2, disjoint=False, **DECLARED).fit(
        X, Y
    )
    assert epsilons(model, "medians") == pytest.approx([0.5 * 2 / 2 / 8] * 2)
    assert leaf_rate(model) == pytest.approx(0.5 * 2 / 8, rel=1e-4)


@pytest.mark.parametrize(
    ("n_rows", "rows_per_leaf", "depth"),
    [(1235, 10, 3), (27_000, 25, 6), (4910, 25, 4), (90_000, 25, 8), (110_019, 25, 8)],
    ids=["Banknote", "Credit card", "Robot", "Higgs", "PUC-Rio"],
)
def test_dipri_me_depths_of_table_2(n_rows, rows_per_leaf, depth):
    assert depth_by_occupancy(n_rows, 10, rows_per_leaf) == depth


def test_partitioning_ensemble_follows_equation_7():
    model = dpforest.PartitioningEnsembleClassifier(epsilon=2.0, max_depth=5, **DECLARED).fit(X, Y)
    c = 1 / (2 * 1.5**5 - 2)
    assert epsilons(model, "medians") == pytest.approx([c * 1.0 * 1.5**i for i in range(5)])
    assert leaf_rate(model) == pytest.approx(1.0, rel=1e-4)


def test_random_trees_spend_everything_on_leaves_of_all_trees():
    model = dpforest.RandomDecisionTreesClassifier(21, epsilon=0.5, max_depth=3, **DECLARED).fit(X, Y)
    assert [e.purpose for e in model.ledger_] == ["leaf class counts"]
    assert leaf_rate(model) == pytest.approx(0.5 / 21, rel=1e-4)
    forest = dpforest.RandomDecisionForestClassifier(21, epsilon=0.5, max_depth=3, **DECLARED).fit(X, Y)
    assert epsilons(forest, "labels") == [0.5]


def test_random_forest_depth_counts_categories_in_binary_levels():
    ordered = Schema({f"x{i}": Numeric(0, 1) for i in range(10)}, MODELS["SPE"].schema.target)
    assert binary_depth(ordered, 8, n_trees=100) == 8
    nominal = Schema({f"c{i}": Nominal(list("abcdef")) for i in range(4)}, MODELS["SPE"].schema.target)
    assert binary_depth(nominal, 2, n_trees=100) == 2 * 3  # 6 categories, missing and other: 8 cells
    assert binary_depth(ordered, 30, n_trees=60_000) == 8  # as much as the table of leaves has room for


def test_each_part_of_a_semi_supervised_table_gets_the_whole_budget():
    y = np.where(np.arange(600) % 2, Y, -1)
    model = dpforest.SemiSupervisedPartitioningEnsembleClassifier(epsilon=2.0, max_depth=2, **DECLARED)
    fitted = model.fit(X, y)
    assert sum(epsilons(fitted, "medians")) == pytest.approx(2.0)
    assert leaf_rate(fitted) == pytest.approx(2.0, rel=1e-4)
    assert fitted.ledger_.total() == 2
    both = clone(model).set_params(persons_in_both=True).fit(X, y)
    assert sum(epsilons(both, "medians")) == pytest.approx(1.0)
    assert leaf_rate(both) == pytest.approx(1.0, rel=1e-4)


@pytest.mark.parametrize(("classes", "rate"), [([0, 1], 2.0), ([0, 1, 2], 1.0)])
def test_label_privacy_has_its_own_constants(classes, rate):
    model = dpforest.SemiSupervisedPartitioningEnsembleClassifier(
        epsilon=2.0, max_depth=2, bounds=(0, 1), classes=classes, feature_privacy=False
    ).fit(X, np.where(np.arange(600) % 2, Y, -1))
    assert [e.purpose for e in model.ledger_] == ["leaf class counts"]  # medians are public
    assert leaf_rate(model) == pytest.approx(rate, rel=1e-4)


def test_transduction_answers_for_the_unlabelled_rows():
    y = np.where(np.arange(600) % 3 == 0, Y, -1)
    model = dpforest.TransductivePartitioningEnsembleClassifier(epsilon=20.0, **DECLARED).fit(X, y)
    assert model.transduction_.shape == (400,)
    assert (model.transduction_ == Y[y == -1]).mean() > 0.6
    assert model.trees_.n_trees == 20


@pytest.mark.parametrize(("n_categories", "depth"), [(2, 6), (3, 7), (8, 8)])
def test_cuts_that_halve_less_make_deeper_trees(n_categories, depth):
    """600 rows, one leaf in 5 of 1 tree: 6.9 halvings; three categories give 0.92 of one, eight 0.54.

    Eight features limit the last. Only the noisy count and the schema decide, so equal rows give it too.
    """
    words = [str(i) for i in range(n_categories)]
    schema = Schema({f"f{i}": Nominal(words) for i in range(8)}, Classes([0, 1]))
    rows = np.full((600, 8), words[0], dtype=object)
    model = dpforest.PartitioningEnsembleClassifier(1, epsilon=1e5, schema=schema).fit(rows, Y)
    assert model.trees_.depth == depth


# --- as published ----------------------------------------------------------------------------------------

NO_OWN_FORM = (
    "guided",
    "guided, several trees",
    "guided regression",
    "boosted",
    "boosted regression",
    "random forest, exponential",
    "SSPE-1, persons in both",
    "FS",
)
PUBLISHED = [name for name in MODELS if name not in NO_OWN_FORM]


@pytest.mark.parametrize("name", PUBLISHED)
def test_the_papers_own_forms_warn_and_promise_nothing(name, patients):
    X, label, target = patients
    model = clone(MODELS[name])
    with pytest.warns(PrivacyLeakWarning, match="not private.*log-ratio|not private"):
        fit(model, patients, as_published=True, epsilon=5.0, random_state=0)
    assert model.guarantee_.status == "void"
    assert "as published" in model.guarantee_.reason
    score = model.score(X, label if is_classifier(model) else target)
    assert score > (0.55 if is_classifier(model) else -0.5)
    accountant = BudgetAccountant(epsilon=10.0)
    with pytest.raises(PrivacyError, match="as published"):
        fit(clone(model), patients, accountant=accountant)
    assert len(accountant) == 0


def test_the_2020_version_is_its_own(patients):
    with pytest.warns(PrivacyLeakWarning):
        model = fit(clone(MODELS["DiPriMeExp"]), patients, as_published=True, version="2020", random_state=0)
    assert model.score(patients[0], patients[1]) > 0.6


def test_the_papers_form_follows_what_is_asked_of_it(patients):
    """Parameters change the paper's own form as they change ours, or are refused; none is passed over."""
    with pytest.warns(PrivacyLeakWarning):
        small, large = (
            fit(clone(MODELS["DiPriMe"]), patients, as_published=True, expected_leaf_rows=rows)
            for rows in (10, 100)
        )
    nodes = [max(len(tree.feature) for tree in model.published_.trees) for model in (small, large)]
    assert nodes == [2**5 - 1, 2**2 - 1]  # 300 rows per tree
    with pytest.warns(PrivacyLeakWarning):
        noisy, quiet = (
            fit(clone(MODELS["SPE"]), patients, as_published=True, split_share=share, max_depth=0)
            for share in (1 - 1e-4, 1e-4)  # what the splits do not get is left for the one leaf of a tree
        )
    spreads = [np.std([tree.values[0].sum() for tree in model.published_.trees]) for model in (noisy, quiet)]
    assert spreads[0] > 100 * spreads[1]
    for name, parameters in (
        ("random forest", {"label_mechanism": "exponential"}),
        ("SSPE-1", {"persons_in_both": True}),
    ):
        with pytest.raises(ValueError, match=next(iter(parameters))):
            fit(clone(MODELS[name]), patients, as_published=True, **parameters)


def test_trees_that_exist_only_where_rows_are_may_be_deep(patients):
    for name in ("random forest", "SPE", "PTE", "JPW"):
        with pytest.warns(PrivacyLeakWarning):
            fit(clone(MODELS[name]), patients, as_published=True, max_depth=20)
        with pytest.raises(ValueError, match="max_depth=20"):
            fit(clone(MODELS[name]), patients, max_depth=20)
    with pytest.raises(ValueError, match="max_depth=20"):  # 2**20 leaves whether rows are there or not
        fit(clone(MODELS["random trees"]), patients, as_published=True, max_depth=20)


def test_transductive_trees_are_cut_at_true_medians(patients):
    """Labels alone are private there: the first cut of a numeric feature is the median of all rows."""
    with pytest.warns(PrivacyLeakWarning):
        model = fit(clone(MODELS["PTE"]), patients, as_published=True, max_depth=1)
    cuts = {tree.threshold[0] for tree in model.published_.trees if tree.feature[0] == 0}
    assert cuts == {np.median(patients[0]["age"])}


# --- learning --------------------------------------------------------------------------------------------

SYN = make_classification(3000, n_features=5, n_informative=5, n_redundant=0, random_state=5)


@pytest.mark.parametrize(
    ("model", "least"),
    [
        (dpforest.PartitioningEnsembleClassifier(epsilon=2.0), 0.83),
        (dpforest.DiPriMeForestClassifier(epsilon=2.0), 0.80),
        (dpforest.DiPriMeForestClassifier(epsilon=2.0, variant="exponential"), 0.80),
        (dpforest.DiPriMeForestClassifier(epsilon=2.0, variant="permute_and_flip"), 0.75),
        (dpforest.RandomDecisionTreesClassifier(epsilon=2.0), 0.70),
    ],
    ids=lambda m: type(m).__name__ if not isinstance(m, float) else None,
)
def test_rigorous_forms_beat_the_majority_class(model, least):
    """Syn5d of Huang et al. (2022, Table 1): 3000 rows, 5 features, two classes."""
    X, y = SYN
    low, high = X.min() - 0.5, X.max() + 0.5
    model = clone(model).set_params(bounds=(low, high), classes=[0, 1], random_state=0)
    with pytest.warns(PrivacyLeakWarning):
        accuracy = model.fit(X[:2700], y[:2700]).score(X[2700:], y[2700:])
    assert accuracy > least


@pytest.mark.parametrize(
    "model",
    [
        dpforest.DiPriMeForestClassifier(50, disjoint=False, max_depth=10),
        dpforest.RandomDecisionForestClassifier(50, disjoint=False, max_depth=10),
        dpforest.RandomDecisionTreesClassifier(50, max_depth=12),
    ],
    ids=lambda m: type(m).__name__,
)
def test_without_noise_they_come_near_extra_trees(model):
    X, y = SYN
    low, high = X.min(), X.max()
    model = clone(model).set_params(epsilon=np.inf, bounds=(low, high), classes=[0, 1], random_state=0)
    with pytest.warns(PrivacyLeakWarning):
        accuracy = model.fit(X[:2700], y[:2700]).score(X[2700:], y[2700:])
    peer = ExtraTreesClassifier(50, max_features=1, max_depth=10, random_state=0).fit(X[:2700], y[:2700])
    assert accuracy > peer.score(X[2700:], y[2700:]) - 0.06


# --- bad input -------------------------------------------------------------------------------------------

SEMI = ["SSPE-1", "SSPE-2", "PTE", "SSRDT", "TOP"]


@pytest.mark.parametrize("name", SEMI)
@pytest.mark.parametrize("labels", ["all", "none", "one class"])
def test_semi_supervised_with_a_set_missing(name, labels, patients):
    X, y, _ = patients
    given = {"all": y, "none": np.full(len(y), None), "one class": np.full(len(y), "home")}[labels]
    model = clone(MODELS[name]).fit(X, given)
    assert model.predict(X).shape == (3000,)
    assert model.guarantee_.is_proven


def test_everything_missing_more_features_than_there_are_and_no_height(model):
    table = np.full((50, 3), None)
    y = ["home"] * 50 if is_classifier(model) else np.zeros(50)
    if hasattr(model, "max_features"):
        model.set_params(max_features=99)
    assert model.fit(table, y).guarantee_.is_proven
    flat = clone(model).set_params(max_depth=0).fit(table, y)
    assert flat.trees_.n_leaves == 1


def test_thirty_classes():
    y = np.arange(600) % 30
    for name in (
        "DiPriMe",
        "DiPriMeExp",
        "DiPriMeFlip",
        "random forest",
        "random trees",
        "SPE",
        "SSPE-2",
        "PTE",
        *(name for name, model in BASELINES.items() if is_classifier(model)),
    ):
        model = clone(MODELS[name]).set_params(schema=None, bounds=(0, 1), classes=range(30))
        assert model.fit(X, y).predict_proba(X).shape == (600, 30)


def test_shares_are_exact_fractions():
    plan = MODELS["DiPriMe"].set_params(split_share=0.1).privacy_plan()
    assert sum((pool.share for pool in plan.pools), Fraction(0)) == 1
    MODELS["DiPriMe"].set_params(split_share=0.5)
