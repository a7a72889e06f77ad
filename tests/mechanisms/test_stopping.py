"""How many runs: the sampler has its law, and the best of so many runs costs 2 + eta times one of them."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2

from dpforest.mechanisms import RandomWords, gamma_for, mean_runs, random_runs, random_runs_log_pmf
from dpforest.search.runs import best_of

ETAS = [Fraction(-1, 2), Fraction(0), Fraction(1, 3), Fraction(1)]


def generating(x, eta, gamma):
    """F(x) = E x^K in closed form."""
    inside = np.log1p(-(1 - float(gamma)) * x)
    if eta == 0:
        return inside / math.log(gamma)
    return np.expm1(-float(eta) * inside) / math.expm1(-float(eta) * math.log(gamma))


def best_pmf(run, scores, generate):
    """Probability of every output of the best of K runs; `run` is the pmf of one, each with its score."""
    run, scores = np.asarray(run), np.asarray(scores)
    below = np.array([run[scores < score].sum() for score in scores])
    same = np.array([run[scores == score].sum() for score in scores])
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(run > 0, run / same * (generate(below + same) - generate(below)), 0.0)


@pytest.mark.parametrize("eta", ETAS)
def test_the_law_of_the_number_of_runs(eta):
    """Chi-square against the pmf, false-alarm rate 1e-6; the pmf sums to 1, F(x) is that of the pmf."""
    gamma = Fraction(1, 8)
    k = np.arange(1, 600)
    pmf = np.exp(random_runs_log_pmf(k, eta, gamma))
    assert pmf.sum() == pytest.approx(1, abs=1e-12)
    assert pmf @ k == pytest.approx(mean_runs(eta, gamma), rel=1e-9)
    for x in (0.0, 0.3, 0.99, 1.0):
        assert pmf @ x**k == pytest.approx(generating(x, eta, gamma), abs=1e-12)
    n, words = 4000, RandomWords.seeded(5)
    drawn = np.array([random_runs(eta, gamma, words) for _ in range(n)])
    assert drawn.min() >= 1
    ends = [0, 1, 2, 3, 4, 6, 10, 10**9]
    found = np.histogram(drawn, np.array(ends) + 0.5)[0]
    wanted = n * np.histogram(k, np.array(ends) + 0.5, weights=pmf)[0]
    assert ((found - wanted) ** 2 / wanted).sum() < chi2.isf(1e-6, len(wanted) - 1)


@pytest.mark.parametrize("eta", ETAS)
def test_gamma_gives_the_runs_that_are_expected(eta):
    for runs in (1, 2, 7.5, 100):
        assert mean_runs(eta, gamma_for(eta, runs)) == pytest.approx(runs, rel=1e-3)


probabilities = st.lists(st.integers(1, 10**6), min_size=2, max_size=6)


@given(probabilities, st.data())
def test_no_neighbour_changes_the_best_run_by_more_than_two_plus_eta_runs(weights, data):
    """Any run, any neighbour within e^epsilon of it, ties of scores included: exact probabilities."""
    run = np.array(weights) / sum(weights)
    size = {"min_size": len(run), "max_size": len(run)}
    other = run * np.exp(data.draw(st.lists(st.floats(-1, 1), **size)))
    other /= other.sum()
    epsilon = np.abs(np.log(other / run)).max()
    scores = data.draw(st.lists(st.integers(0, 3), **size))
    eta, gamma = data.draw(st.sampled_from(ETAS)), Fraction(1, data.draw(st.integers(1, 10**6)) + 1)
    ours, theirs = (
        best_pmf(pmf, scores, lambda x: generating(np.minimum(x, 1), eta, gamma)) for pmf in (run, other)
    )
    assert ours.sum() == pytest.approx(1, abs=1e-9)
    # differences of F lose digits where a score is rare: those of 1e-16 in 1e-7
    sure = (ours > 1e-7) & (theirs > 1e-7)
    assert np.abs(np.log(ours[sure] / theirs[sure])).max(initial=0) <= (2 + float(eta)) * epsilon + 1e-7


def tight_pair(epsilon):
    """The second best of three outputs is rare, the best somewhat less rare; a neighbour swaps their odds."""
    top, second = 1e-3, 1e-6
    pmfs = [second, top], [second * math.exp(epsilon), top * math.exp(-epsilon)]
    return [[1 - sum(rare), *rare] for rare in pmfs]


def test_the_price_is_reached_and_a_fixed_number_of_runs_costs_more():
    """Exact: at least 0.95 of (2 + eta) epsilon is lost on a tight pair; with a fixed K ten times that."""
    epsilon, gamma = 1.0, Fraction(1, 10**7)
    for eta in ETAS:
        ours, theirs = (
            best_pmf(pmf, [0, 1, 2], lambda x, eta=eta: generating(x, eta, gamma))
            for pmf in tight_pair(epsilon)
        )
        lost = np.abs(np.log(ours / theirs)).max()
        assert 0.95 * (2 + float(eta)) < lost / epsilon <= 2 + float(eta) + 1e-6
    fixed, moved = (best_pmf(pmf, [0, 1, 2], lambda x: x**20_000) for pmf in tight_pair(epsilon))
    assert np.abs(np.log(fixed / moved)).max() > 10 * epsilon


def test_the_best_of_so_many_runs_has_the_stated_law():
    """Chi-square of 4,000 searches against the closed form, false-alarm rate 1e-6; first of equals wins."""
    eta, gamma, pmf, scores = Fraction(0), Fraction(1, 8), np.array([4, 3, 2, 1]) / 10, [0, 1, 1, 2]
    words = RandomWords.seeded(11)

    def run():
        return int(np.searchsorted([4, 7, 9, 10], words.uniform_below(10, 1)[0], side="right"))

    n = 4000
    found = np.bincount(
        [best_of(run, random_runs(eta, gamma, words), lambda y: scores[y]) for _ in range(n)], minlength=4
    )
    wanted = n * best_pmf(pmf, scores, lambda x: generating(x, eta, gamma))
    assert ((found - wanted) ** 2 / wanted).sum() < chi2.isf(1e-6, 3)


@pytest.mark.parametrize(("eta", "gamma"), [(-1, 1), (2, 1), (0, 0), (0, 2)])
def test_laws_without_a_proof_are_refused(eta, gamma):
    with pytest.raises(ValueError, match="eta must lie"):
        random_runs(Fraction(eta), Fraction(gamma), RandomWords.seeded(0))
