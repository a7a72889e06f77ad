"""Planted bugs in the real code, each caught by some auditor that passes the code as it is.

Statistical audits run at alpha = 1e-6 with fixed seeds, so a failure is a change of the code, not chance.
"""

from fractions import Fraction

import numpy as np
import pytest

import dpforest
from dpforest import mechanisms
from dpforest._curator import Curator, PrivateTable, payment
from dpforest._curator.assignment import GivenTrees
from dpforest._structure import FlatTrees
from dpforest.audit import audit, audit_exact, audit_ledger, audit_one_run, presets
from dpforest.mechanisms import RandomWords, Rate, quantile_log_pmf
from dpforest.papers.baselines import TransductiveOutputPerturbationClassifier
from dpforest.privacy import BudgetPlan
from dpforest.schema import Classes, Nominal, Numeric, Range, Schema

TWO = Schema({"age": Numeric(0, 8, bins=4)}, Classes(["died", "home"]))
THREE = Schema({"age": Numeric(0, 8, bins=4)}, Classes(["died", "home", "moved"]))


def found(subject, pair, runs=2000, **options):
    return audit(subject, pair, runs=runs, random_state=1, progress=False, **options)


# --- the code as it is -----------------------------------------------------------------------------------

ONE_LEAF = dpforest.RandomDecisionTreesClassifier(1, schema=TWO, max_depth=0, epsilon=1.0)
TWO_TREES = dpforest.RandomDecisionTreesClassifier(2, schema=TWO, max_depth=1, epsilon=1.0)
LABELS = dpforest.SemiSupervisedPartitioningEnsembleClassifier(
    1, schema=THREE, max_depth=0, epsilon=1.0, feature_privacy=False
)
DEEP = dpforest.DiPriMeForestClassifier(
    1, epsilon=1.0, bounds=([0] * 9, [1] * 9), classes=[0, 1], max_depth=13, split_share=0.1
)


@pytest.mark.parametrize(
    ("subject", "pair"),
    [
        (ONE_LEAF, "one row alone"),
        (TWO_TREES, "identical and one odd"),
        (LABELS, "one row alone"),
    ],
)
def test_the_code_as_it_is_passes(subject, pair):
    assert found(subject, pair).verdict == "no violation found at this confidence"


def test_the_code_as_it_is_passes_one_run():
    assert 0.2 < audit_one_run(DEEP, n_canaries=4000, random_state=1).loss <= 1


# --- planted bugs ----------------------------------------------------------------------------------------


class TwiceTheRate(Rate):
    @classmethod
    def floor(cls, value):
        return Rate.floor(2 * value)


@pytest.fixture
def halved_noise(monkeypatch):
    monkeypatch.setattr(payment, "Rate", TwiceTheRate)


def test_halved_noise_by_many_runs(halved_noise):
    assert found(ONE_LEAF, "one row alone").violation


def test_halved_noise_by_one_run(halved_noise):
    assert audit_one_run(DEEP, n_canaries=4000, random_state=1).violation


def test_halved_noise_on_the_ledger(halved_noise):
    assert audit_ledger(TWO_TREES, random_state=1).loss == pytest.approx(2)


def test_sensitivity_off_by_one_in_a_count(monkeypatch):
    """A changed label leaves one class and enters another; counting it once is half the noise."""
    pay = payment.Payments.for_noise

    def one_less(self, pool, share, query, copies, l1, l2_squared):
        return pay(self, pool, share, query, copies, max(1, l1 - 1), l2_squared)

    monkeypatch.setattr(payment.Payments, "for_noise", one_less)
    assert found(LABELS, "one row alone").violation


def test_sensitivity_off_by_one_in_a_score(monkeypatch):
    def median(rows):
        return quantile_log_pmf([np.bincount(rows, minlength=4)], [0], [3], Fraction(1))[0]

    assert not audit_exact(median, range(4), 4, claim=1.0).violation
    monkeypatch.setattr(mechanisms.splits, "quantile_range", lambda *_: 1)
    assert audit_exact(median, range(4), 4, claim=1.0).loss > 1.5


def two_leaves(X, y, random_state):
    """Rows scattered over two trees without splits, at epsilon 2."""
    plan = BudgetPlan.divide(2, 0, {"leaves": 1})
    with Curator(PrivateTable(X, y, TWO), plan, RandomWords.seeded(random_state)) as curator:
        curator.scatter_rows(2)
        return curator.leaf_histograms("leaves", FlatTrees.unsplit(2, 0)).values


def test_groups_of_equal_size(monkeypatch):
    """An added row moves others to the other tree; only several counts together show it."""
    pair = next(pair for pair in presets(TWO) if pair.name == "identical and one odd")
    assert not found(two_leaves, pair, runs=8000, claim=2.0).violation

    def scatter_equally(curator, n_trees):
        order = np.argsort(curator._key_words.uniform_below(2**30, curator._n_rows()))
        curator._assignment = GivenTrees(n_trees, order % n_trees)

    monkeypatch.setattr(Curator, "scatter_rows", scatter_equally)
    assert found(two_leaves, pair, runs=8000, claim=2.0).violation


def test_one_seed_for_all_trees(monkeypatch):
    exact = mechanisms.discrete_laplace

    def same_noise_in_all_trees(counts, rate, words):
        return counts + exact(np.zeros_like(counts[:1]), rate, words)

    monkeypatch.setattr(mechanisms, "discrete_laplace", same_noise_in_all_trees)
    assert found(TWO_TREES, "identical and one odd").violation


def test_raw_counts_released(monkeypatch):
    monkeypatch.setattr(mechanisms, "discrete_laplace", lambda counts, rate, words: counts)
    assert found(ONE_LEAF, "one row alone", runs=400).violation


def test_raw_count_kept_in_the_model(monkeypatch):
    fit = type(ONE_LEAF).fit

    def fit_and_remember(self, X, y):
        self._n_rows = len(X)
        return fit(self, X, y)

    monkeypatch.setattr(type(ONE_LEAF), "fit", fit_and_remember)
    result = found(ONE_LEAF, "one row alone", runs=400)
    assert result.violation
    assert "_n_rows" in result.event


def test_bounds_from_the_data():
    """The library refuses this unless asked, and then promises nothing: here is why."""
    careless = dpforest.DiPriMeForestClassifier(
        1, classes=["died", "home"], on_leak="warn", max_depth=1, epsilon=1.0
    )
    result = found(careless, "beyond the domain", runs=400, schema=TWO)
    assert result.violation
    assert "bound" in result.event


@pytest.mark.parametrize("forgotten", ["leaf class counts", "private medians, level 0"])
def test_forgotten_charge(monkeypatch, forgotten):
    model = dpforest.DiPriMeForestClassifier(2, schema=TWO, max_depth=2)
    assert not audit_ledger(model, random_state=1).violation
    charge = payment.Payments._charge

    def forgetful(self, pool, share, purpose, *rest):
        if str(purpose) != forgotten:
            charge(self, pool, share, purpose, *rest)

    monkeypatch.setattr(payment.Payments, "_charge", forgetful)
    assert audit_ledger(model, random_state=1).violation


# two ordered features, so that products are asked for, and categories
MIXED = {**TWO.features, "crp": Numeric(0, 1, bins=4), "ward": Nominal(["a", "b", "c"])}
NUMBERS = Schema(MIXED, Range(0, 1))


@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize(
    "model",
    [
        dpforest.PrivateForestClassifier(epsilon=5000.0, schema=Schema(MIXED, TWO.target)),
        dpforest.PrivateForestRegressor(epsilon=5000.0, schema=NUMBERS),
        TransductiveOutputPerturbationClassifier(schema=TWO),
    ],
    ids=lambda model: type(model).__name__,
)
def test_the_ledger_of_sums(monkeypatch, model, delta):
    """With so much epsilon default forests ask everything they can; noise for half the bound is found."""
    model.set_params(delta=delta)
    kept = audit_ledger(model, random_state=1)
    # a little less where no cell of this schema reaches its bound
    assert 0.9 * kept.claim < kept.loss < kept.claim * (1 + 1e-5)
    for paying in ("for_sums", "for_noise"):
        honest = getattr(payment.Payments, paying)

        def stingy(self, pool, share, purpose, first=1, *sizes, honest=honest, **named):
            first = named.pop("copies", first)
            sizes = [max(1, size // 2) for size in (*sizes, *named.values())]
            return honest(self, pool, share, purpose, first, *sizes)

        monkeypatch.setattr(payment.Payments, paying, stingy)
    assert audit_ledger(model, random_state=1).violation
