"""Checks that a slip must fail: each states one claim, exactly or with a false-alarm rate below 1e-6."""

from __future__ import annotations

import gc
import weakref
from fractions import Fraction

import numpy as np
import pytest

import dpforest
from dpforest import mechanisms
from dpforest._curator import Block, Centres, Curator, PrivateTable, Utility
from dpforest._curator.payment import Payments
from dpforest._rows import MemoryRows
from dpforest._structure import FlatTrees
from dpforest._structure.flat import EVERYTHING_LEFT
from dpforest.audit import audit_replay
from dpforest.mechanisms import (
    RandomWords,
    Rate,
    discrete_gaussian,
    discrete_gaussian_parameter,
    discrete_laplace,
    permute_and_flip,
    quantile_utilities,
    randomness,
)
from dpforest.privacy import (
    BudgetAccountant,
    BudgetExceededError,
    BudgetPlan,
    Ledger,
    LeftBehind,
    NeighboringRelation,
    PrivacyError,
)
from dpforest.schema import Range
from dpforest.search import runs
from tests.audit import test_replay
from tests.counting import leaf_counts, rows_of_cells
from tests.curator import test_utilities
from tests.curator.conftest import CLASSES, TARGET, rows_of
from tests.curator.test_utilities import RECORDS

LABEL = NeighboringRelation.LABEL_CHANGE
SMALL = {"bounds": (0, 1), "classes": [0, 1], "max_depth": 1}


def curator_of(records, schema=CLASSES, epsilon=1, seed=0, relation=None, **options) -> Curator:
    named = {} if relation is None else {"relation": relation}
    plan = BudgetPlan.divide(epsilon, 0, {"all": 1}, **named)
    return Curator(PrivateTable(*rows_of(records), schema), plan, RandomWords.seeded(seed), **options)


# --- rows and tables ------------------------------------------------------------------------------------


def what_is_left_of_a_target_stays_on_the_grid() -> None:
    for y in (0.0, 0.5, 1.0):
        for low, high in ((0.0, 4.0), (4.0, 8.0), (-3.0, 2.5), (6.0, 20.0)):
            with curator_of([(0.1, "a", y)], TARGET, noiseless=True) as curator:
                curator.subtract(low, high, constant=1.0)
                sums = curator.leaf_soft_histograms("all", FlatTrees.unsplit(1, 0)).values[0, 0]
            assert sums.min() >= 0, "a level beyond the grid: noise is made for levels within"
            assert sums.sum() == TARGET.range.levels


def targets_stay_on_the_grid() -> None:
    far = [0, 5, 1e8 + 3, 1e8 + 8, -1e300, 1e300, np.inf, -np.inf, np.nan]
    with np.errstate(over="ignore"):
        for target in (Range(1e8 + 3, 1e8 + 5), Range(0, 1), Range(20200101, 20200131, levels=7)):
            for width in (np.float16, np.float32, np.float64):
                levels = target.encode(np.array(far).astype(width))
                assert levels.min() >= -1
                assert levels.max() <= target.levels


def one_row_moves_both_sums_of_a_leaf_by_the_levels() -> None:
    def released(records):
        with curator_of(records, TARGET, noiseless=True) as curator:
            return curator.leaf_soft_histograms("all", FlatTrees.unsplit(1, 0)).values

    before = [(0.1, "a", 0.25), (0.6, "b", 1.0)]
    for y in (0.0, 0.4, 1.0, 99.0):
        moved = released([*before, (0.9, "c", y)]) - released(before)
        assert np.abs(moved).sum() == TARGET.range.levels


def rows_share_a_tree_by_chance() -> None:
    """Two rows, two trees, 300 draws: 150 together on average, fewer than 80 or more than 220 below 1e-15."""
    together = 0
    for seed in range(300):
        with curator_of(RECORDS[:2], seed=seed, noiseless=True) as curator:
            curator.scatter_rows(2)
            counts = curator.leaf_histograms("all", FlatTrees.unsplit(2, 0)).values.sum(axis=(1, 2))
        together += counts.max() == 2
    assert 80 < together < 220


def rows_without_a_label_count_nowhere() -> None:
    cells, target = np.zeros((3, 1), np.uint8), np.array([-1, 0, -1], np.int32)
    rows = rows_of_cells(cells, target, np.array([1]), 2)
    assert leaf_counts(rows, FlatTrees.unsplit(1, 0)).tolist() == [[[1, 0]]]


def boosted_models_replay() -> None:
    """On neighbouring tables, after the same answers, a boosted fit asks the same and releases the same."""
    model = dpforest.PrivateForestClassifier(
        2, epsilon=100.0, schema=test_replay.TWO, delta=1e-6, max_depth=2
    )
    result = test_replay.replayed(model)
    assert not result.violation, str(result)


# --- noise ----------------------------------------------------------------------------------------------


def empty_leaves_are_noisy() -> None:
    """At this rate a count stays what it is with probability below 0.002."""
    for schema, query in ((CLASSES, "leaf_histograms"), (TARGET, "leaf_soft_histograms")):
        with curator_of([], schema, epsilon=Fraction(1, 100)) as curator:
            released = getattr(curator, query)("all", FlatTrees.unsplit(3, 4)).values
        assert (released != 0).mean() > 0.9


def leaves_have_noise_of_their_own() -> None:
    """At this rate two counts get the same noise with probability below 0.002."""
    with curator_of([], epsilon=Fraction(1, 100)) as curator:
        released = curator.leaf_histograms("all", FlatTrees.unsplit(2, 5)).values.reshape(-1)
    assert len(np.unique(released)) > 0.9 * released.size


def laplace_noise_counts_zero_once() -> None:
    """Of 3000 draws at rate 1, 46.2 % are zero; 6 deviations of 0.9 % are a rate of 1e-9."""
    noise = discrete_laplace(np.zeros(3000, int), Rate(1, 0), RandomWords.seeded(1))
    assert abs((noise == 0).mean() - np.tanh(0.5)) < 6 * 0.5 / 3000**0.5


def no_word_is_dropped_where_the_tape_is_cut() -> None:
    samplers = [
        lambda words: discrete_laplace(np.arange(200), Rate(1, 5), words),
        lambda words: discrete_gaussian(np.arange(200), Fraction(40, 3), words),
        lambda words: permute_and_flip(np.arange(200).reshape(20, 10), Rate(1, 1), words),
        lambda words: words.uniform_below(3 * 2**61, 200),
    ]
    for sampler in samplers:
        wanted = sampler(RandomWords.seeded(3))
        for items in (1, 7):
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(randomness, "_ITEMS_PER_TAPE", items)
                assert np.array_equal(sampler(RandomWords.seeded(3)), wanted)


def system_words_are_new_every_time() -> None:
    assert not np.array_equal(RandomWords.system().take(4), RandomWords.system().take(4))


def rates_are_rounded_down() -> None:
    for x in (Fraction(1, 3), Fraction(10, 7), Fraction(123_456_789, 10**12), Fraction(2**22 + 1)):
        assert Rate.floor(x).value <= x


def variances_are_rounded_up() -> None:
    """Also where a square lies just below: 9 is one on every grid of standard deviations."""
    just_above = [9 + Fraction(1, 4**bits) for bits in (10, 22, 23, 24, 40)]
    for variance in (Fraction(2), Fraction(1, 10), Fraction(10**7, 3), *just_above):
        assert discrete_gaussian_parameter(variance) >= variance


def both_counts_of_two_classes_are_noisy() -> None:
    """Under label privacy the size of a leaf is public, and nothing else."""
    from tests.curator.test_label_sums import test_two_classes_add_up_to_the_public_total

    test_two_classes_add_up_to_the_public_total()
    records = [(0.1, "a", y) for y in (0, 0, 1, 0, 1)]
    schema = type(CLASSES)(CLASSES.features, type(CLASSES.target)([0, 1]))
    with curator_of(records, schema, Fraction(1, 100), relation=LABEL) as curator:
        counts = curator.leaf_histograms("all", FlatTrees.unsplit(50, 0)).values[:, 0]
    assert (counts.sum(axis=1) == 5).all()
    assert (counts[:, 0] != 3).mean() > 0.8


# --- choices --------------------------------------------------------------------------------------------


def thresholds_do_not_follow_rows() -> None:
    bases = [quantile_utilities([counts], [1], [5])[1].tolist() for counts in ([0] * 6, [9, 0, 3, 0, 1, 7])]
    assert bases[0] == bases[1] == [[0, 1, 1, 1, 1, 0]]


def empty_nodes_choose_too() -> None:
    with curator_of([]) as curator:
        trees = FlatTrees.unsplit(40, 1, curator.subsets.left_sets)
        cuts = curator.medians("all", trees, 0, np.zeros((40, 1), np.int32), Fraction(1, 2))
        asked = np.zeros((40, 1, 1), np.int32)
        _, more = curator.splits("all", trees, 0, asked, Utility.GINI, Fraction(1, 2))
    for found in (cuts, more):
        assert (found < EVERYTHING_LEFT).all()
        assert len(np.unique(found)) > 1


def scores_move_within(utility: Utility) -> None:
    """Every record of the domain, added to tables on which it moves the scores far."""
    centres = {
        Utility.CENTRED: Centres.of_shares(np.array([[0.5, 0.3, 0.2]])),
        Utility.CENTRED_TARGET: Centres.of_means(np.array([3.0]), TARGET.range.levels),
    }
    blocks = [[], [(0.1, "a", 2)] * 60 + [(0.9, "a", 0)] * 38 + [(0.9, "a", 1)] * 22, [(0.1, "a", 0)] * 60]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(test_utilities, "CENTRES", centres)
        _scores_move_within(utility, blocks)


def _scores_move_within(utility: Utility, blocks: list[list[tuple[float, str, int]]]) -> None:
    for block in blocks:
        before = test_utilities.scores(block, utility)
        for record in RECORDS:
            change = test_utilities.scores([*block, record], utility) - before
            assert change.max() - change.min() <= utility.range_for(TARGET)


# --- budget ---------------------------------------------------------------------------------------------


def a_pool_is_not_overdrawn() -> None:
    ledger = Ledger(BudgetPlan.divide(1, 0, {"all": 1}))
    ledger.charge("all", Fraction(6, 10), "noise", "first")
    with pytest.raises(BudgetExceededError):
        ledger.charge("all", Fraction(6, 10), "noise", "second")


def looks_are_charged() -> None:
    with curator_of(RECORDS) as curator:
        curator.row_count("all", Fraction(1, 4))
        curator.leaf_labels("all", FlatTrees.unsplit(1, 0), Fraction(1, 4))
        assert curator.ledger.total() == Fraction(1, 2)


def a_promise_is_not_below_what_is_spent() -> None:
    for epsilon in (Fraction(1, 3), Fraction(2, 3), Fraction(1, 10), Fraction(7, 11)):
        plan = BudgetPlan.divide(epsilon, 0, {"all": 1})
        assert Fraction(str(plan.guarantee.epsilon)) >= plan.total  # a float is read by its decimal text


def persons_in_both_sets_cost_what_was_promised() -> None:
    from tests.forests.conftest import patients_table
    from tests.forests.test_persons import test_a_person_never_costs_more_than_promised as costs_no_more

    costs_no_more("SSPE-1, persons in both", "one row", patients_table(60))


def sums_are_for_rows_that_come_and_go() -> None:
    """Under label privacy a changed label would move two classes, or a quantile by more than was paid for."""
    whole, blocks = Fraction(1), [Block(0, np.ones((6, 1), int))]
    scores = (np.zeros(3), np.zeros((1, 1, 3)), np.zeros((1, 2, 6, 3)), np.ones((1, 2)), np.zeros(1, int))
    alike = np.ones(1, int)
    with curator_of(RECORDS[:2], relation=LABEL) as curator:
        for ask in (
            lambda: curator.lookup_sums("all", whole, "sums", blocks, 1, by_class=True),
            lambda: curator.product_sums("all", whole, "sums", blocks, 1),
            lambda: curator.target_quantile("all", whole, "bound", 1, 2),
            lambda: curator.best_mixture("all", whole, FlatTrees.unsplit(1, 0), *scores, alike),
        ):
            with pytest.raises(PrivacyError):
                ask()


def features_are_public_under_label_privacy_only() -> None:
    with curator_of(RECORDS[:2]) as curator:
        root, first = FlatTrees.unsplit(1, 1, curator.subsets.left_sets), np.zeros((1, 1), np.int32)
        for ask in (
            curator.public_cells,
            lambda: curator.public_medians(root, 0, first),
            lambda: curator.label_sums("all", np.ones((2, 1), np.int32)),
        ):
            with pytest.raises(PrivacyError):
                ask()


def blocks_stay_within_their_bound() -> None:
    one_line_beyond = np.array([[1], [1], [-9], [1], [1], [1]])
    with curator_of(RECORDS[:2]) as curator, pytest.raises(ValueError, match="bound"):
        curator.lookup_sums("all", Fraction(1), "sums", [Block(0, one_line_beyond)], 8, by_class=True)


def scores_seen(records, schema, ask) -> np.ndarray:
    """Scores that the exponential mechanism is given by a query."""
    seen = []

    def look(scores, *_):
        seen.append(scores)
        return np.zeros(len(scores), int)

    with pytest.MonkeyPatch.context() as patch, curator_of(records, schema) as curator:
        patch.setattr(mechanisms, "exponential", look)
        ask(curator, FlatTrees.unsplit(1, 1, curator.subsets.left_sets))
    return np.concatenate(seen)


def labelled_rows_do_not_move_questions_about_others() -> None:
    """The parts of a table are charged in parallel; a row may count in one of them only."""

    def ask(curator, root):
        features = np.zeros((1, 1), np.int32)
        curator.medians("all", root, 0, features, Fraction(1), unlabelled_only=True)

    unlabelled = [(0.1, "a", 99), (0.6, "b", 99), (0.9, "c", 99)]
    alone = scores_seen(unlabelled, CLASSES, ask)
    np.testing.assert_array_equal(scores_seen([*unlabelled, (0.9, "a", 1)], CLASSES, ask), alone)
    assert not np.array_equal(scores_seen([*unlabelled, (0.9, "a", 99)], CLASSES, ask), alone)


def splits_are_scored_by_their_utility(utility: Utility) -> None:
    """What the mechanism sees are the scores whose ranges are proven, of the rows as they are."""
    records = RECORDS[:9] + 3 * RECORDS[4:5]
    schema = TARGET if utility in test_utilities.NUMBERS else CLASSES

    def ask(curator, root):
        centres = test_utilities.CENTRES.get(utility)
        curator.splits("all", root, 0, test_utilities.ASKED, utility, Fraction(1), centres)

    halved = [(x, c, y / 2) for x, c, y in records] if schema is TARGET else records
    seen = scores_seen(halved, schema, ask)[0][test_utilities.IS_CUT]
    np.testing.assert_array_equal(seen, test_utilities.scores(records, utility))


def exact_medians_see_coarse_targets() -> None:
    """Both features part the targets; the new row joins the low ones by one, the high ones by the other."""
    X, y = np.repeat([[1.0, 1.0], [7.0, 7.0]], 20, axis=0), np.repeat([0.0, 1.0], 20)
    model = dpforest.DiPriMeForestRegressor(
        1, schema=test_replay.NUMBERS, max_depth=1, variant="permute_and_flip"
    )
    result = audit_replay(model, X, y, [7.0, 1.0], 1.0)
    assert not result.violation, str(result)


# --- life of a model ------------------------------------------------------------------------------------


def rows_are_gone_when_the_curator_is() -> None:
    with curator_of(RECORDS) as curator:
        assert isinstance(curator._rows, MemoryRows)
    assert not [name for name, value in vars(curator).items() if isinstance(value, MemoryRows)]
    assert isinstance(curator._pay, Payments)
    with pytest.raises(PrivacyError):
        curator._pay.for_noise("all", Fraction(1, 9), "late", 1, 1, 1)


def nothing_of_an_earlier_fit_survives() -> None:
    X, y = np.linspace(0, 1, 20)[:, None], np.arange(20) % 2
    model = dpforest.DiPriMeForestClassifier(2, **SMALL)
    fresh = set(vars(model.fit(X, y)))
    model = dpforest.DiPriMeForestClassifier(2, **SMALL).set_params(as_published=True, epsilon=1.0)
    model.fit(X, y).set_params(as_published=False).fit(X, y)
    assert set(vars(model)) == fresh


VOID = [{"random_state": 1}, {"epsilon": np.inf}, {"as_published": True}, {"bounds": None, "on_leak": "warn"}]


def a_void_fit_is_not_charged() -> None:
    X, y = np.linspace(0, 1, 20)[:, None], np.arange(20) % 2
    for void in VOID:
        accountant = BudgetAccountant(epsilon=5.0)
        model = dpforest.DiPriMeForestClassifier(2, **{**SMALL, **void}, accountant=accountant)
        with pytest.raises(PrivacyError):
            model.fit(X, y)
        assert not list(accountant.history())


def a_void_fit_says_so() -> None:
    X, y = np.linspace(0, 1, 20)[:, None], np.arange(20) % 2
    assert dpforest.DiPriMeForestClassifier(2, **SMALL).fit(X, y).guarantee_.status == "proven"
    for void in VOID:
        model = dpforest.DiPriMeForestClassifier(2, **{**SMALL, **void}).fit(X, y)
        assert model.guarantee_.status == "void"


def a_fit_out_of_reach_of_its_accountant_is_refused() -> None:
    model = dpforest.DiPriMeForestClassifier(2, **SMALL, accountant=LeftBehind())
    with pytest.raises(PrivacyError):
        model.fit(np.zeros((4, 1)), np.zeros(4, int))


def losing_runs_are_forgotten() -> None:
    """Of seven runs one is left."""

    class Run:
        pass

    seen: list[weakref.ref[Run]] = []

    def run() -> Run:
        made = Run()
        seen.append(weakref.ref(made))
        return made

    best = runs.best_of(run, 7, id)
    gc.collect()
    assert [one() for one in seen if one() is not None] == [best]


def three_rows_of_a_person_are_not_named() -> None:
    """At this rate noise is zero but with probability e**-50: three rows of one person stay below."""
    assert mechanisms.naming_threshold(Rate(64, 0), Fraction(1, 1000), 3, 3) > 3
