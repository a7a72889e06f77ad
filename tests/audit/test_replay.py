"""The replay auditor: flaws that it must find, and the same code without them, in which it finds none.

Nothing here is statistical: a replay compares exact tables, so there are no false alarms.
"""

import json
import warnings
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from click.testing import CliRunner
from sklearn.base import clone

import dpforest
from dpforest import mechanisms
from dpforest._boosting import rounds
from dpforest._curator import Curator, Look, Noisy, Utility, payment, queries
from dpforest._curator.assignment import GivenTrees
from dpforest._rows import By, CellCounts, LeafSums, Residual
from dpforest._rows.gradients import CellTotals
from dpforest._structure import FlatTrees
from dpforest.audit import audit_replay
from dpforest.audit.replay.cases import quick_cases
from dpforest.audit.replay.movement import Movement, price
from dpforest.cli import main
from dpforest.forests import base
from dpforest.papers.baselines import FriedmanSchusterTreeClassifier
from dpforest.privacy import BudgetAccountant, Event, Kind, PrivacyError, Query, exponential_epsilon_from_rho
from dpforest.schema import Classes, Numeric, Range, Schema

FEATURES = {"age": Numeric(0, 8, bins=4), "dose": Numeric(0, 8, bins=4)}
TWO, NUMBERS = Schema(FEATURES, Classes([0, 1])), Schema(FEATURES, Range(0, 1, levels=64))
rng = np.random.default_rng(0)
X = 4 * rng.random((40, 2))  # the upper half of either feature is empty
Y = np.zeros(40, int)  # all alike: one other label moves an impurity as far as it can move
TARGETS = X.mean(axis=1) / 8
ODD = [7.5, 7.5]  # falls where nobody else is

TREES = dpforest.RandomDecisionTreesClassifier(3, schema=TWO, max_depth=2)
SCATTERED = dpforest.RandomDecisionForestClassifier(3, schema=TWO, max_depth=1)
MEDIANS = dpforest.DiPriMeForestClassifier(2, schema=TWO, max_depth=2)
PERMUTED = dpforest.DiPriMeForestClassifier(2, schema=TWO, max_depth=2, variant="permute_and_flip")
GUIDED = dpforest.PrivateForestClassifier(schema=TWO, max_depth=2)
BY_GINI = FriedmanSchusterTreeClassifier(schema=TWO, max_depth=1, criterion="gini")
MEANS = dpforest.DiPriMeForestRegressor(2, schema=NUMBERS, max_depth=1)
BOOSTED = dpforest.PrivateForestRegressor(2, schema=NUMBERS, max_depth=1, epsilon=50.0)


def replayed(model, label=1, **changes):
    y = TARGETS if isinstance(model, base.PrivateForestRegressorBase) else Y
    return audit_replay(clone(model).set_params(**changes), X, y, ODD, label)


def kinds(result):
    return {finding.kind for finding in result.findings}


# --- the code as it is -----------------------------------------------------------------------------------


@pytest.mark.parametrize("delta", [0.0, 1e-6], ids=["pure", "zcdp"])
@pytest.mark.parametrize(
    "model",
    [TREES, SCATTERED, MEDIANS, PERMUTED, GUIDED, BY_GINI, MEANS, BOOSTED],
    ids=lambda model: type(model).__name__,
)
def test_the_code_as_it_is_passes_and_uses_its_budget(model, delta):
    """A loss well below the claim would mean that flaws of that size go unseen."""
    result = replayed(model, delta=delta)
    assert not result.violation, str(result)
    assert 0.5 * result.claim < result.loss <= result.claim * (1 + 1e-12)
    assert len(result.neighbours) == 6


class Sampling(dpforest.PrivateForestClassifier):
    """Always has a linear part, and asks one row in three which weights are best."""

    _config = replace(
        dpforest.PrivateForestClassifier._config,
        enough_for_both=0.0,
        least_per_sum=0.0,
        most_to_choose=1.0,
        rows_to_choose=12.0,
    )


def test_weights_that_are_judged_by_a_sample_pass():
    model = Sampling(schema=TWO, max_depth=2, epsilon=50.0)
    result = replayed(model)
    assert not result.violation, str(result)
    asked = {event.kind for event in clone(model).fit(X, Y).ledger_}
    assert {Kind.PART_WEIGHTS, Kind.FITTED_WEIGHTS} <= asked


def test_a_result_says_what_was_done():
    result = replayed(TREES)
    assert "no violation found on these tables" in str(result)
    assert result.to_dict()["findings"] == []
    assert "black" in result._repr_html_()


def test_nothing_is_spent_and_the_estimator_is_left_alone():
    accountant = BudgetAccountant(epsilon=1.0)
    model = dpforest.RandomDecisionTreesClassifier(2, schema=TWO, max_depth=1, accountant=accountant)
    audit_replay(model, X, Y, ODD, 1)
    with BudgetAccountant(epsilon=1.0) as default, pytest.raises(PrivacyError, match="nothing was charged"):
        audit_replay(model, X, Y, ODD, 1)  # such fits promise nothing, so nobody may pay for them
    assert len(accountant) == len(default) == 0
    assert not hasattr(model, "guarantee_")
    assert model.random_state is None


def test_what_promises_nothing_is_refused():
    with pytest.raises(ValueError, match="Nothing is promised"):
        replayed(dpforest.RandomDecisionTreesClassifier(2, schema=TWO, epsilon=np.inf))
    with pytest.raises(TypeError, match="this library"):
        audit_replay(object(), X, Y, ODD, 1)


@pytest.mark.parametrize("case", list(quick_cases()), ids=lambda case: case.name)
def test_every_estimator_and_option_passes(case):
    """With changing promises, forms of tables, numbers of rows and odd rows; `make audit` crosses them."""
    result = case.run()
    assert not result.violation, str(result)


# --- planted flaws: what is asked ------------------------------------------------------------------------


class Peeking(dpforest.DiPriMeForestClassifier):
    """Estimators that look past the curator."""

    def rows(self, curator):
        return curator._n_rows()


class DepthFromRows(Peeking):
    def _grow(self, curator):
        return dpforest._trees.grow_median(curator, "splits", self.n_estimators, 1 + self.rows(curator) % 2)


class FeaturesFromRows(Peeking):
    def _grow(self, curator):
        trees = FlatTrees.unsplit(self.n_estimators, 1, curator.subsets.left_sets)
        features = np.full((self.n_estimators, 1), self.rows(curator) % 2, np.int32)
        trees.threshold[:, :1] = curator.medians("splits", trees, 0, features, Fraction(1))
        trees.feature[:, :1] = features
        return trees


class ShareFromRows(Peeking):
    def _fill(self, curator, trees):
        return curator.leaf_histograms("leaves", trees, Fraction(1, 1 + self.rows(curator) % 2))


class SkipsEmptyLeaves(dpforest.RandomDecisionTreesClassifier):
    def _fill(self, curator, trees):
        noise = curator._pay.for_noise("leaves", Fraction(1), "leaf class counts", trees.n_trees, 1, 1)
        counts = curator._leaf_counts(trees)
        full = counts.any(axis=-1)
        counts[full] = noise(counts[full]).values
        return Noisy(counts, noise.sd)


class LooksTwice(Peeking):
    """One charge, two looks: the mean of two noisy tables tells more than one."""

    def _fill(self, curator, trees):
        noise = curator._pay.for_noise("leaves", Fraction(1), "leaf class counts", 1, 1, 1)
        counts = curator._leaf_counts(trees)
        return Noisy((noise(counts).values + noise(counts).values) // 2, noise.sd)


class OrderFromRows(Peeking):
    def _fill(self, curator, trees):
        if self.rows(curator) % 2:
            curator.row_count("leaves", Fraction(1, 100))
        return curator.leaf_histograms("leaves", trees, Fraction(99, 100))


class ShareFromLastRow(Peeking):
    def _fill(self, curator, trees):
        last = int(curator._rows.cells()[-1].max())
        return curator.leaf_histograms("leaves", trees, Fraction(1, 1 + last // 3))


class Warns(dpforest.DiPriMeForestClassifier):
    def fit(self, X, y):
        if (np.asarray(X) > 4).any():
            warnings.warn("large values were clipped", UserWarning, stacklevel=2)
        return super().fit(X, y)


class Prints(dpforest.DiPriMeForestClassifier):
    def fit(self, X, y):
        print(f"{len(X)} rows")
        return super().fit(X, y)


class Fails(dpforest.DiPriMeForestClassifier):
    def fit(self, X, y):
        if (np.asarray(X) > 4).any():
            raise ValueError("values above 4")
        return super().fit(X, y)


class KeepsRowCount(dpforest.DiPriMeForestClassifier):
    def fit(self, X, y):
        super().fit(X, y)
        self.n_rows_ = len(X)
        return self


class KeepsExactCounts(Peeking):
    def _fill(self, curator, trees):
        exact = curator._leaf_counts(trees)
        return Noisy(exact, curator.leaf_histograms("leaves", trees).sd)


FLAWED = {
    DepthFromRows: "question",
    FeaturesFromRows: "question",
    ShareFromRows: "amount",
    ShareFromLastRow: "amount",
    SkipsEmptyLeaves: "question",
    LooksTwice: "movement",
    OrderFromRows: "question",
    Warns: "message",
    Prints: "message",
    Fails: "failure",
    KeepsRowCount: "release",
    KeepsExactCounts: "release",
}


@pytest.mark.parametrize("flawed", FLAWED, ids=lambda flawed: flawed.__name__)
def test_an_estimator_that_looks_past_the_curator_is_found(flawed):
    result = replayed(flawed(3, schema=TWO, max_depth=3))
    assert FLAWED[flawed] in kinds(result), str(result)
    assert "7.5" not in str(result)  # findings name places, not values


def test_findings_say_where_the_row_has_to_be():
    result = replayed(ShareFromLastRow(2, schema=TWO, max_depth=1))
    places = {finding.neighbour for finding in result.findings if finding.kind == "amount"}
    assert places == {"one row more, at the end"}


# --- planted flaws: how far tables move ------------------------------------------------------------------


def round_robin(curator, n_trees):
    curator._assignment = GivenTrees(n_trees, np.arange(curator._n_rows()) % n_trees)


def unclipped_above(residual, block):
    scaled = np.rint(
        (residual._left(block) - residual.low) * (residual.levels / (residual.high - residual.low))
    )
    return np.where(np.isnan(scaled), -1, np.maximum(scaled, 0)).astype(np.int32)


def doubled_soft_histogram(curator, pool, trees, share=Fraction(1), query=None):
    levels = curator.schema.range.levels
    noise = curator._pay.for_noise(
        pool, share, query or "leaf target sums", curator._copies(trees), levels, levels**2
    )
    counts, sums = np.moveaxis(curator._rows.fold(LeafSums(**curator._walk(trees, trees.depth))), -1, 0)
    return noise(np.stack([2 * sums, 2 * (levels * counts - sums)], axis=-1))


def half_the_range(range_for):
    return lambda utility, schema: max(1, range_for(utility, schema) // 2)


MUTANTS = {
    "rows to trees round-robin": (SCATTERED, Curator, "scatter_rows", lambda _: round_robin),
    "copies of trees forgotten": (TREES, Curator, "_copies", lambda _: lambda curator, trees: 1),
    "residual not clipped above": (BOOSTED, Residual, "run", lambda _: unclipped_above),
    "soft histogram doubled": (MEANS, Curator, "leaf_soft_histograms", lambda _: doubled_soft_histogram),
    "half the range of a utility": (BY_GINI, Utility, "range_for", half_the_range),
    "half the range of quantiles": (MEDIANS, queries, "quantile_range", lambda _: lambda: 1),
}  # fmt: skip


@pytest.mark.parametrize("mutant", MUTANTS)
@pytest.mark.parametrize("delta", [0.0, 1e-6], ids=["pure", "zcdp"])
def test_a_table_that_moves_too_far_is_found(monkeypatch, mutant, delta):
    model, owner, name, broken = MUTANTS[mutant]
    monkeypatch.setattr(owner, name, broken(getattr(owner, name)))
    # with delta the default regressor boosts: its residuals are gradients, whose flaws are planted elsewhere
    result = replayed(model, delta=0.0 if model is BOOSTED else delta)
    assert "movement" in kinds(result), str(result)


def test_weights_of_cuts_that_are_made_of_rows_are_found(monkeypatch):
    """Columns may weigh by what was released before, not by what the rows say now."""
    released = rounds.column_weights

    def peeking(state, cuts):
        counts = state.curator._rows.fold(CellTotals(state.curator._scores))
        return released(state, cuts) + int(counts.sum())

    monkeypatch.setattr(rounds, "column_weights", peeking)
    result = replayed(BOOSTED, delta=1e-6)
    assert "question" in kinds(result), str(result)


def test_a_mechanism_that_runs_at_more_than_was_charged_is_found(monkeypatch):
    floor = mechanisms.Rate.floor
    monkeypatch.setattr(mechanisms.Rate, "floor", lambda rate: floor(2 * rate))
    result = replayed(MEDIANS)
    assert kinds(result) == {"price"}
    assert len(result.findings) == result.paid


def test_permute_and_flip_at_the_price_of_the_exponential_mechanism_is_found(monkeypatch):
    monkeypatch.setattr(payment, "pure_epsilon_from_rho", exponential_epsilon_from_rho)
    assert kinds(replayed(PERMUTED)) == set()  # pure amounts need no conversion
    assert kinds(replayed(PERMUTED, delta=1e-6)) == {"price"}


def test_labels_that_are_not_public_are_found(monkeypatch):
    """Under label privacy tables of features are free; one that depends on a label is not of features."""
    model = dpforest.TransductivePartitioningEnsembleClassifier(2, schema=TWO, max_depth=1, n_second=1)
    assert not replayed(model).violation
    codes = CellCounts._codes
    monkeypatch.setattr(
        CellCounts,
        "_codes",
        lambda table, block: block.target - 1 if table.by is By.NOTHING else codes(table, block),
    )
    assert "question" in kinds(replayed(model))


# --- the command -----------------------------------------------------------------------------------------


def command(*arguments):
    given = [
        "audit",
        "replay",
        "RandomDecisionTreesClassifier",
        "--quick",
        "--jobs",
        "1",
        *arguments,
    ]
    return CliRunner().invoke(main, given)


def test_the_command_replays_and_counts():
    result = command()
    assert result.exit_code == 0, result.output
    assert "violations found: 0 of 10 cases" in result.output
    assert "no case has all of" in command("nobody's forest").output


def test_the_command_tells_what_it_found_by_its_exit_code(monkeypatch, tmp_path):
    monkeypatch.setattr(Curator, "_copies", lambda curator, trees: 1)
    result = command("--out", str(tmp_path / "found.json"))
    assert result.exit_code == 1, result.output
    assert "moved by" in result.output
    assert {case["verdict"] for case in json.loads((tmp_path / "found.json").read_text())} == {
        "violation found"
    }


# --- the yardstick ---------------------------------------------------------------------------------------


def look(mechanism, moves, strength=1, copies=1, blocks=(), cost=1):
    event = Event("pool", mechanism, Query(Kind.OTHER, "purpose"), Fraction(cost), "all rows")
    return Look(event, Fraction(strength), copies, moves, blocks)


def steps(look, before, after, *public, pure=True):
    movement = Movement(look)
    movement.add(np.array(before), np.array(after), *map(np.array, public))
    return movement.steps(pure)


def test_steps_of_noise_are_counted_by_the_norm_of_the_noise():
    one, two = look("discrete Laplace", 2), look("discrete Laplace", 2, copies=2)
    assert steps(one, [[5, 5]], [[5, 5]]) == 0
    assert steps(one, [[5, 5]], [[6, 4]]) == 1
    assert steps(one, [[5, 5]], [[6, 3]]) == 2
    assert steps(two, [[5, 5]], [[6, 3]]) == 1
    gaussian = look("discrete Gaussian", 2)
    assert steps(gaussian, [5, 5], [6, 4], pure=False) == 1
    assert steps(gaussian, [5, 5], [7, 3], pure=False) == 2  # 8 is four times 2: twice as far
    assert steps(gaussian, [5, 5], [7, 4], pure=False) == 2
    blocks = look("block norm", 3, blocks=(1, 2))
    assert steps(blocks, [[0, 0, 0]], [[3, 2, -1]]) == 1  # three in either block
    assert steps(blocks, [[0, 0, 0]], [[3, 2, -2]]) == 2
    assert steps(blocks, [[0, 0, 0]] * 2, [[3, 0, 0], [0, 1, 0]]) == 2  # two vectors


def test_steps_of_choices_are_counted_by_the_range_over_candidates():
    chosen = look("exponential mechanism", 2)
    assert steps(chosen, [[0, 0, 0]], [[1, -1, 9]], [[1, 1, 0]]) == 1  # the third is no candidate
    assert steps(chosen, [[0, 0, 0]], [[1, -1, 9]]) == 5
    assert steps(chosen, [[0, 0]], [[7, 7]]) == 0  # all moved alike
    assert steps(chosen, [[0, 0]] * 2, [[1, -1], [1, 0]]) == 2  # in two nodes
    in_all_trees = look("exponential mechanism", 2, copies=4)
    assert steps(in_all_trees, [[0, 0]] * 4, [[1, -1]] * 4) == 1
    assert steps(in_all_trees, [[0, 0]] * 4, [[1, -1]] * 4, pure=False) == 1
    assert steps(in_all_trees, [[0, 0]] * 4, [[4, -4]] + [[0, 0]] * 3, pure=False) == 2
    assert steps(chosen, [[0, 0]], [[1, -1]], [[0, 0]]) == 0  # nothing to choose


def test_prices_follow_the_composition_rules():
    laplace = look("discrete Laplace", 2, strength=Fraction(1, 4), copies=3)
    assert price(laplace, pure=True) == Fraction(3, 2)
    exponential = look("exponential mechanism", 2, strength=Fraction(1, 2))
    flipped = look("permute-and-flip", 2, strength=Fraction(1, 2))
    assert price(exponential, pure=True) == price(flipped, pure=True) == 1
    assert price(exponential, pure=False) == Fraction(1, 8)
    assert price(flipped, pure=False) == Fraction(1, 2)
    gaussian = look("discrete Gaussian", 4, strength=8)
    assert price(gaussian, pure=False) == Fraction(1, 4)
    assert price(gaussian, pure=True) == np.inf
