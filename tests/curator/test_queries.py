"""What the curator releases follows exactly the distribution of the charged mechanism.

One call with thousands of trees that all hold all rows gives thousands of independent answers of the same
mechanism, so every query is compared with its `log_pmf` in one go.
"""

from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import chisquare

from dpforest import mechanisms
from dpforest._curator import EXPONENTIAL, Centres, Curator, PrivateTable, Utility, queries
from dpforest._curator.utilities import Candidates, median_scores
from dpforest._rows import By
from dpforest._structure import FlatTrees
from dpforest.mechanisms import RandomWords, Rate
from dpforest.privacy import BudgetPlan, NeighboringRelation, PrivacyError
from dpforest.schema import Classes, Schema
from tests.counting import cell_counts, cell_moments, encoded_rows
from tests.curator.conftest import CLASSES, TARGET, rows_of
from tests.curator.test_utilities import CENTRES, NUMBERS
from tests.neighbours import neighbours

DRAWS = 60_000
# Counting cells for trees that all hold all rows takes the square of their number, hence many calls.
CALLS, CHUNK = 60, 2**14  # a call still has its trees in more than one chunk
TREES = DRAWS // CALLS
RECORDS = [(0.1, "a", 0), (0.1, "b", 1), (0.6, "b", 1), (0.9, "c", 2), (None, "a", 2), (0.9, "zzz", 0)]


def assert_follows(chosen, log_pmf):
    """Chi-square with every cell pooled to 1000 expected draws; false alarms below 1e-6."""
    expected = np.exp(log_pmf) * len(chosen)
    observed = np.bincount(chosen, minlength=len(expected))
    assert (observed[expected == 0] == 0).all()
    order = np.argsort(expected)
    pooled, total = [], np.zeros(2)
    for i in order:
        total += expected[i], observed[i]
        if total[0] >= 1000:
            pooled.append(total)
            total = np.zeros(2)
    pooled[-1] = pooled[-1] + total
    wanted, seen = np.array(pooled).T
    assert len(wanted) > 1
    assert chisquare(seen, wanted * seen.sum() / wanted.sum()).pvalue > 1e-6


def all_nodes(centres):
    """The same centre for every one of the thousands of roots."""
    if centres is None:
        return None
    return Centres(np.repeat(centres.centre, TREES, axis=0), np.repeat(centres.span, TREES))


def one_level(curator, features, n_trees=DRAWS):
    trees = FlatTrees.unsplit(n_trees, 1, curator.subsets.left_sets)
    return trees, np.broadcast_to(np.array(features, np.int32), (n_trees, 1, len(features)))


@pytest.mark.parametrize("feature", [0, 1], ids=["thresholds", "subsets"])
def test_medians_follow_the_exponential_mechanism(open_curator, feature):
    epsilon = Fraction(1, 2)
    with open_curator(RECORDS, epsilon=epsilon * DRAWS) as curator:
        trees, features = one_level(curator, [feature])
        cut = curator.medians("everything", trees, 0, features[..., 0].copy(), Fraction(1))[:, 0]
        sets = curator.subsets
    counts = np.bincount(CLASSES.encode_features(rows_of(RECORDS)[0])[:, feature], minlength=6)[None]
    if feature == 0:
        assert_follows(cut, mechanisms.quantile_log_pmf(counts, [0], [5], epsilon)[0])
    else:
        members = np.array([[1, 1, 1, 1, 1]], np.uint8)
        expected = mechanisms.balanced_subset_log_pmf(counts[:, :5], members, sets.of(1)[:, :5], epsilon)
        assert_follows(-cut - 1 - sets.first[1], expected[0])


KINDS = [*((utility, 1) for utility in Utility), (Utility.MAX_OPERATOR, 2)]


@pytest.mark.parametrize(("utility", "most_common"), KINDS)
def test_splits_follow_the_exponential_mechanism(open_curator, monkeypatch, utility, most_common):
    monkeypatch.setattr(queries, "CHUNK_ENTRIES", CHUNK)
    schema = TARGET if utility in NUMBERS else CLASSES
    records = [(x, c, y / 2) for x, c, y in RECORDS] if schema is TARGET else RECORDS
    epsilon = Fraction(2)
    with open_curator(records, schema, epsilon=epsilon * DRAWS) as curator:
        trees, features = one_level(curator, [0, 1], TREES)
        asked = features.copy(), utility, Fraction(1, CALLS), all_nodes(CENTRES.get(utility)), most_common
        chosen = [curator.splits("everything", trees, 0, *asked) for _ in range(CALLS)]
        sets = curator.subsets
    feature, cut = (np.concatenate(each) for each in zip(*chosen, strict=True))
    log_pmf, width = split_log_pmf(records, schema, utility, epsilon, sets, most_common)
    index = np.where(feature == 1, width - cut - 1 - sets.first[1], cut)[:, 0]
    assert_follows(index, log_pmf)


def split_log_pmf(records, schema, utility, epsilon, sets, most_common=1):
    """Exact distribution of one joint choice at the root."""
    X, y = rows_of(records)
    rows, width = encoded_rows(X, y, schema), int(schema.n_cells.max())
    root, asked = FlatTrees.unsplit(1, 1, sets.left_sets), np.array([[[0, 1]]], np.int32)
    candidates = Candidates.of_level(root, 0, asked, schema.n_cells, sets)
    if utility in NUMBERS:
        table = cell_moments(rows, root, 0, asked, width)
    else:
        table = cell_counts(rows, root, 0, asked, width, By.TARGET)
    unit = most_common if utility is Utility.MAX_OPERATOR else utility.unit_for(schema)
    scores = candidates.scores(utility, unit, slice(0, 1), table, CENTRES.get(utility))
    rate = Rate.floor(epsilon / utility.range_for(schema))
    return mechanisms.exponential_log_pmf(scores, candidates.base_measure(), rate)[0], candidates.width


@pytest.mark.parametrize("utility", Utility)
@pytest.mark.parametrize("epsilon", [Fraction(1, 2), Fraction(2)])
def test_joint_splits_keep_their_epsilon_over_all_small_tables(open_curator, utility, epsilon):
    schema = TARGET if utility in NUMBERS else CLASSES
    domain = [(x, c, y) for x in (0.1, 0.9) for c in "ab" for y in (0, 1)]
    with open_curator([]) as curator:
        sets = curator.subsets
    worst, known = 0.0, {}

    def log_pmf(records):
        key = tuple(sorted(records))
        if key not in known:
            known[key] = split_log_pmf(records, schema, utility, epsilon, sets)[0]
        return known[key]

    for before, after in neighbours(domain, 4):
        a, b = log_pmf(before), log_pmf(after)
        possible = np.isfinite(a)
        assert (possible == np.isfinite(b)).all()
        worst = max(worst, np.abs(a[possible] - b[possible]).max())
    assert worst <= float(epsilon) + 1e-9
    tight = [(0.1, "a", 0)] * 400
    tight += [(0.9, "a", 1)] * 400 if utility is Utility.MAX_OPERATOR else []
    extra = (0.1, "a", 1) if utility is not Utility.MAX_OPERATOR else (0.9, "a", 1)
    if utility is Utility.INFORMATION_GAIN:  # its range is that of a full table; one cut sets the row apart
        tight, extra = [(0.1, "a", 0)] * 20_000, (0.3, "a", 1)
    a, b = log_pmf(tight), log_pmf([*tight, extra])
    worst = max(worst, np.abs(a[np.isfinite(a)] - b[np.isfinite(b)]).max())
    assert worst >= 0.5 * float(epsilon), f"{worst} of {epsilon}: noise is twice what it need be"


@pytest.mark.parametrize("delta", [0, Fraction(1, 10**6)], ids=["pure", "zcdp"])
def test_leaf_histograms_carry_the_charged_noise(open_curator, delta):
    with open_curator(RECORDS, epsilon=2000, delta=delta) as curator:
        trees = FlatTrees.unsplit(20_000, 0)
        noisy = curator.leaf_histograms("everything", trees).values
        per_tree = curator.ledger.plan.total / 20_000
        (event,) = curator.ledger
    noise = noisy[:, 0] - np.array([2, 2, 2])
    support = np.arange(-200, 201)
    if delta:
        variance = 1 / (2 * per_tree)
        log_pmf = mechanisms.discrete_gaussian_log_pmf(support, variance)
    else:
        log_pmf = mechanisms.discrete_laplace_log_pmf(support, Rate.floor(per_tree))
    inside = noise[np.abs(noise) <= 200]
    assert_follows(inside + 200, log_pmf - np.logaddexp.reduce(log_pmf))
    assert noise.std() == pytest.approx(event.parameters["noise_sd"], rel=0.05)


def test_soft_histograms_release_both_sums(open_curator):
    records = [(0.1, "a", 0.25), (0.1, "a", 1.0), (0.1, "a", np.nan), (0.1, "a", 99)]
    with open_curator(records, TARGET, epsilon=10**7) as curator:
        sums = curator.leaf_soft_histograms("everything", FlatTrees.unsplit(1, 0)).values
    np.testing.assert_array_equal(sums, [[[2 + 8 + 8, 6 + 0 + 0]]])  # the unknown target is left out


def test_labels_follow_permute_and_flip(open_curator):
    epsilon = Fraction(1, 2)
    with open_curator([*RECORDS, (0.1, "a", 1)], epsilon=epsilon * DRAWS) as curator:
        labels = curator.leaf_labels("everything", FlatTrees.unsplit(DRAWS, 0))[:, 0]
    assert_follows(labels, mechanisms.permute_and_flip_log_pmf([[2, 3, 2]], Rate.floor(epsilon))[0])


def test_counts_are_noisy_and_charged(open_curator):
    with open_curator(RECORDS, epsilon=200) as curator:
        assert curator.row_count("everything", Fraction(1, 2)) == 6
        np.testing.assert_array_equal(curator.class_counts("everything", Fraction(1, 2)).values, [2, 2, 2])
        assert curator.ledger.total() == 200


def test_rows_are_scattered_uniformly_and_independently_of_order(open_curator):
    with open_curator(RECORDS * 5000, epsilon=10**6) as curator:
        curator.scatter_rows(7)
        counts = curator.leaf_histograms("everything", FlatTrees.unsplit(7, 0)).values.sum(axis=(1, 2))
        assert curator.ledger.events[0].parameters["trees_per_row"] == 1
    assert counts.sum() == 30_000
    assert chisquare(counts).pvalue > 1e-6


def test_a_noiseless_curator_takes_the_best_cut(open_curator):
    records = [(0.1, "a", 0)] * 3 + [(0.9, "a", 1)] * 3
    with open_curator(records, noiseless=True) as curator:
        trees = FlatTrees.unsplit(50, 1, curator.subsets.left_sets)
        asked = np.zeros((50, 1, 1), np.int32)
        _, cut = curator.splits("everything", trees, 0, asked, Utility.GINI, Fraction(1, 2))
        assert set(cut.ravel()) <= {0, 1, 2}
        assert len(set(cut.ravel())) > 1  # ties are broken at random
        counts, sd = curator.leaf_histograms("everything", FlatTrees.unsplit(1, 0), Fraction(1, 2))
        assert counts.tolist() == [[[3, 3, 0]]]
        assert sd == 0


def table_by_code(records, schema, by):
    X, y = rows_of(records)
    root, asked = FlatTrees.unsplit(1, 1), np.array([[[0, 1]]], np.int32)
    return cell_counts(encoded_rows(X, y, schema), root, 0, asked, int(schema.n_cells.max()), by)


def test_a_constant_feature_separates_nothing():
    """All rows in one cell: halves with the classes of the whole, up to chance, score as no cut would."""
    table = np.zeros((1, 2, 4, 2), np.int64)
    table[0, 0, 1] = 4000, 6000  # constant
    table[0, 1, 0], table[0, 1, 3] = (4000, 1000), (0, 5000)  # informative
    constant, informative = median_scores(table, True)[0] / 1024
    uncut = -10_000 * (1 - 0.4**2 - 0.6**2)
    assert uncut <= constant < uncut + 20
    assert informative > uncut + 2000


@pytest.mark.parametrize("is_class", [True, False], ids=["classes", "numbers"])
def test_median_scores_move_within_their_range(is_class):
    """The premise of the choice of a feature by its exact median cut, on random and on extreme tables."""
    schema, by = (CLASSES, By.TARGET) if is_class else (TARGET, By.COARSE_TARGET)
    rng = np.random.default_rng(0)
    domain = [(x, c, y) for x in (0.1, 0.4, 0.6, 0.9) for c in "abc" for y in (0, 1)]
    widest = 0
    blocks = [[(0.1, "a", 0)] * 40 + [(0.9, "b", 1)] * 40, [(0.4, "a", 0)] * 39 + [(0.6, "a", 1)] * 41]
    one_row = {record: table_by_code([record], schema, by) for record in domain}
    for trial in range(400):
        size = rng.integers(0, 14)
        block = blocks[trial % 2] if trial % 3 else []
        records = block + [domain[i] for i in rng.integers(0, len(domain), size)]
        table = table_by_code(records, schema, by)
        before = median_scores(table, is_class)
        for record in domain[:: rng.integers(1, 5)]:
            change = median_scores(table + one_row[record], is_class) - before
            widest = max(widest, change.max() - change.min())
            third = median_scores.range(is_class) // 3
            assert (change <= third).all()
            assert (change >= -2 * third).all()
    assert widest <= median_scores.range(is_class)
    assert widest >= median_scores.range(is_class) / 3


def test_features_by_median_follow_permute_and_flip(open_curator, monkeypatch):
    monkeypatch.setattr(queries, "CHUNK_ENTRIES", CHUNK)
    epsilon = Fraction(2)
    with open_curator(RECORDS, epsilon=epsilon * DRAWS) as curator:
        trees, features = one_level(curator, [0, 1], TREES)
        asked = features.copy(), Fraction(1, CALLS)
        chosen = [curator.features_by_median("everything", trees, 0, *asked)[:, 0] for _ in range(CALLS)]
    scores = median_scores(table_by_code(RECORDS, CLASSES, By.TARGET), True)
    rate = Rate.floor(epsilon / median_scores.range(True))
    assert_follows(np.concatenate(chosen).astype(int), mechanisms.permute_and_flip_log_pmf(scores, rate)[0])


def test_labels_can_follow_the_exponential_mechanism(open_curator):
    epsilon = Fraction(1, 2)
    with open_curator([*RECORDS, (0.1, "a", 1)], epsilon=epsilon * DRAWS) as curator:
        trees = FlatTrees.unsplit(DRAWS, 0)
        labels = curator.leaf_labels("everything", trees, mechanism=EXPONENTIAL)[:, 0]
    expected = mechanisms.exponential_log_pmf([[2, 3, 2]], [1, 1, 1], Rate.floor(epsilon))[0]
    assert_follows(labels, expected)


def label_private(records, schema, epsilon=1):
    plan = BudgetPlan.divide(epsilon, 0, {"everything": 1}, relation=NeighboringRelation.LABEL_CHANGE)
    return Curator(PrivateTable(*rows_of(records), schema), plan, RandomWords.seeded(0))


@pytest.mark.parametrize("query", ["splits", "features_by_median", "leaf_labels", "leaf_soft_histograms"])
def test_questions_priced_for_rows_are_refused_under_label_privacy(query):
    """A changed label moves their scores and sums twice as far as a row that comes or goes."""
    trees, features = FlatTrees.unsplit(1, 1), np.zeros((1, 1, 1), np.int32)
    arguments = {
        "splits": (trees, 0, features, Utility.GINI, Fraction(1)),
        "features_by_median": (trees, 0, features, Fraction(1)),
    }.get(query, (trees,))
    with label_private(RECORDS, CLASSES) as curator, pytest.raises(PrivacyError, match="labels that change"):
        getattr(curator, query)("everything", *arguments)
    assert not len(curator.ledger)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_changed_label_costs_epsilon(n_classes):
    """Exact: the worst ratio of leaf histograms of one leaf when one label of four changes, and no less."""
    schema = Schema(CLASSES.features, Classes(list(range(n_classes))))
    with label_private([], schema) as curator:
        curator.leaf_histograms("everything", FlatTrees.unsplit(1, 0))
        (event,) = curator.ledger
    rate = 2 * np.arcsinh(1 / (np.sqrt(2) * event.parameters["noise_sd"]))  # of exp(-rate |k|)
    noised = 1 if n_classes == 2 else n_classes  # with two classes one count tells both
    before, after = np.zeros(n_classes), np.zeros(n_classes)
    before[0], after[-1] = 1, 1
    far = np.abs(before - after)[-noised:].sum()  # one record's label moves from the first to the last class
    assert rate * far == pytest.approx(1, rel=1e-3)


def test_two_classes_release_one_noisy_count_and_the_public_size():
    schema = Schema(CLASSES.features, Classes([0, 1]))
    records = [(0.1, "a", 0)] * 30 + [(0.1, "a", 1)] * 12
    with label_private(records, schema) as curator:
        counts = curator.leaf_histograms("everything", FlatTrees.unsplit(50, 0)).values
    assert (counts.sum(axis=-1) == 42).all()
    assert counts[..., 1].std() > 0


def test_features_are_public_under_label_privacy_only(open_curator):
    feature = np.zeros((1, 1), np.int32)
    with open_curator(RECORDS) as curator:
        trees = FlatTrees.unsplit(1, 1, curator.subsets.left_sets)
        for ask in (curator.public_cells, lambda: curator.public_medians(trees, 0, feature)):
            with pytest.raises(PrivacyError, match="private"):
                ask()
    schema = Schema(CLASSES.features, Classes([0, 1, 2]))
    records = [(0.1, "a", 0), (0.1, "a", None), (0.9, "a", 1), (0.95, "a", None)]
    with label_private(records, schema) as curator:
        cells, is_labelled = curator.public_cells()
        assert is_labelled.tolist() == [True, False, True, False]
        assert cells.shape == (4, 2)
        assert curator.public_medians(trees, 0, feature)[0, 0] in (0, 1, 2)  # between cells 0 and 3


def test_medians_of_unlabelled_rows_ignore_labelled_ones(open_curator):
    records = [(0.1, "a", None)] * 40 + [(0.9, "a", None)] * 40 + [(0.1, "a", 1)] * 900
    with open_curator(records, epsilon=400) as curator:
        trees = FlatTrees.unsplit(200, 1, curator.subsets.left_sets)
        feature = np.zeros((200, 1), np.int32)
        cut = curator.medians("everything", trees, 0, feature, Fraction(1), unlabelled_only=True)
    assert set(cut.ravel()) <= {0, 1, 2}
