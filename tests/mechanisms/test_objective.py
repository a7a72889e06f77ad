"""The minimum of a perturbed objective: exact likelihood ratios, planted flaws, the search, the sampler."""

import math
from fractions import Fraction
from functools import lru_cache
from itertools import product

import numpy as np
import pytest
from scipy.stats import binomtest

from dpforest.mechanisms import (
    LONGEST,
    POSITION_BITS,
    Problem,
    RandomWords,
    Rate,
    perturbed_minimum,
    rounded_minimum,
    terms,
)
from dpforest.mechanisms.minimum import minimum
from tests.neighbours import neighbours, tables

EPSILON = Fraction(1)
SMALL = 1e-9  # just beside a place where a pull begins to be held


# --- losses, written once more ---------------------------------------------------------------------------


def pull_of_two(score, y):
    """Derivatives of the loss of two classes by the score of the second: the pull is held at 1/2."""
    margin = score if y else -score
    share = 1 / (1 + math.exp(min(margin, 700)))
    pull, bend = (0.5, 0.0) if margin <= 0 else (share, share * (1 - share))
    return np.array([-pull if y else pull]), np.array([[bend]])


def pull_of_three(scores, y):
    """Derivatives by the scores of all classes: the own class is pulled by at most 3/4."""
    powers = np.exp(scores - scores.max())
    others = np.where(np.arange(len(scores)) == y, 0.0, powers)
    share, among = others.sum() / powers.sum(), others / others.sum()
    turn = among - np.eye(len(scores))[y]
    held = min(share, 0.75)
    bend = held * (np.diag(among) - np.outer(among, among))
    if share < 0.75:
        bend += share * (1 - share) * np.outer(turn, turn)
    return held * turn, bend


def pull_of_number(score, y):
    """Derivatives of half the squared distance to y, which grows no faster than the distance beyond 1."""
    away = float(score - y)
    return np.array([np.clip(away, -1, 1)]), np.array([[float(abs(away) < 1)]])


class Objective:
    """A loss of rows (x, y), x in blocks: what is public, and the density of the minimum for given rows."""

    def __init__(self, pull, n_outputs, blocks, reach, bend, domain):
        longest = max(sum(v * v for v in x) for x, _ in domain)
        self.pull, self.n_outputs, self.domain = pull, n_outputs, domain
        bend = Fraction(bend) * Fraction(longest)
        self._of_row = lru_cache(maxsize=None)(self._derivatives)
        self.problem = Problem(blocks, n_outputs, Fraction(reach), bend, 2**30, 1e-7)

    def of_rows(self, records, w):
        """Sums of the rows' first and second derivatives at w, of shape (coordinates, outputs)."""
        first, second = np.zeros(w.shape), np.zeros((w.size, w.size))
        for x, y in records:
            of_row = self._of_row(x, y, w.tobytes())
            first += of_row[0]
            second += of_row[1]
        return first, second

    def _derivatives(self, x, y, place):
        scores = np.array(x) @ np.frombuffer(place).reshape(-1, self.n_outputs)
        pull, bend = self.pull(scores if self.n_outputs > 1 else scores[0], y)
        return np.outer(x, pull), np.kron(np.outer(x, x), bend)

    def log_density(self, records, found, w):
        """Logarithm of the density at w, up to what is the same for all tables."""
        known, n = found.known, w.size
        first, second = self.of_rows(records, w)
        beyond = max((w**2).sum() - 3072, 0)
        of_ridge = (known.ridge + known.wall * beyond) * np.eye(n)
        if beyond:
            of_ridge += 2 * known.wall * np.outer(w.ravel(), w.ravel())
        b = -(first + (known.ridge + known.wall * beyond) * w)
        k = np.rint(b * 2.0**found.bits)
        starts = np.cumsum([0, *self.problem.blocks[:-1]])
        norm = np.add.reduceat(np.abs(k), starts, axis=0).max(axis=0).sum()
        return -float(found.rate) * norm + np.log(np.linalg.eigvalsh(second + of_ridge)).sum()

    def loss(self, found, places, max_rows):
        """Largest ratio over all tables of a few rows, their neighbours and all places; how many pairs."""
        of_table = {
            rows: np.array([self.log_density(rows, found, w) for w in places])
            for rows in tables(self.domain, max_rows)
        }
        ratios = [
            np.abs(of_table[tuple(sorted(larger, key=self.domain.index))] - of_table[smaller]).max()
            for smaller, larger in neighbours(self.domain, max_rows)
        ]
        return max(ratios), len(ratios)


STEPS = [0.0, SMALL, 0.05, 0.4, 1.5, 6.0, 40.0, 57.0, 61.0]
LINE = [np.array([[sign * at]]) for at in STEPS for sign in (1, -1)]
COORDINATES = [-57, -1.5, -0.3, -SMALL, 0, SMALL, 0.4, 2, 40]
PLANE = [np.array([[a], [b]], float) for a, b in product(COORDINATES, repeat=2)]
SCORES = [np.array([w], float) for w in product([-40, -1.0, -SMALL, 0.0, 0.3, 1.1], repeat=3)]
ONE = [((x,), y) for x in (-1, 0.5, 1) for y in (0, 1)]
TWO = [(x, y) for x in ((1, 1), (1, -1), (0.5, 0)) for y in (0, 1)]
THREE = [((x,), y) for x in (1, -0.5) for y in (0, 1, 2)]
NUMBERS = [((x,), y) for x in (1, -1) for y in (-8, 0, 1)]
CASES = {
    "two classes, one coordinate": (Objective(pull_of_two, 1, (1,), "1/2", "1/4", ONE), LINE, 4),
    "two classes, two blocks": (Objective(pull_of_two, 1, (1, 1), "1/2", "1/4", TWO), PLANE, 3),
    "two classes, one block of two": (
        Objective(pull_of_two, 1, (2,), "1/2", "1/4", [((1, 0), 0), ((1, 0), 1), ((0, 1), 0), ((0, -1), 0)]),
        PLANE,
        3,
    ),
    "three classes": (Objective(pull_of_three, 3, (1,), "3/2", "2/3", THREE), SCORES, 2),
    "numbers": (Objective(pull_of_number, 1, (1,), 1, 1, NUMBERS), LINE, 4),
}


# --- likelihood ratios -----------------------------------------------------------------------------------


@pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(1), Fraction(8)], ids=float)
@pytest.mark.parametrize("name", CASES)
def test_no_neighbour_changes_the_density_by_more_than_was_paid(name, epsilon):
    objective, places, max_rows = CASES[name]
    found = terms(objective.problem, epsilon)
    paid = found.rate.value * found.hides + objective.problem.bend / Fraction(found.known.ridge)
    assert paid + found.after.value * found.moves <= epsilon
    loss, n_pairs = objective.loss(found, places, max_rows)
    assert n_pairs > 40
    assert loss <= paid + Fraction(1, 10**9)
    # with a large epsilon, log(1 + trace / ridge) is well below trace / ridge
    assert loss >= (0.8 if epsilon <= 1 and name != "three classes" else 0.6) * epsilon


FLAWS = {
    "noise halved": lambda found: found._replace(rate=Rate.floor(2 * found.rate.value)),
    "reach of one side of the pulls": lambda found: found._replace(rate=Rate.floor(found.rate.value * 3 / 2)),
    "a tenth of the ridge": lambda found: found._replace(
        known=found.known._replace(ridge=found.known.ridge / 10)
    ),
    "all of epsilon for the linear term": lambda found: found._replace(
        rate=Rate.floor(EPSILON / found.hides)
    ),
}


@pytest.mark.parametrize("flaw", FLAWS)
@pytest.mark.parametrize("name", ["two classes, one coordinate", "two classes, two blocks", "numbers"])
def test_planted_flaws_exceed_epsilon(name, flaw):
    objective, places, max_rows = CASES[name]
    found = FLAWS[flaw](terms(objective.problem, EPSILON))
    assert objective.loss(found, places, max_rows)[0] > EPSILON


def test_blocks_that_are_paid_as_one_sum_are_no_flaw_but_one_row_in_two_blocks_is():
    """N is the largest block: a norm that counted only the first block would hide nothing of the second."""
    objective, places, _ = CASES["two classes, two blocks"]
    found = terms(objective.problem, EPSILON)
    joined = Objective(pull_of_two, 1, (2,), "1/2", "1/4", TWO)  # L1 norm of both, but reach 1/2
    assert joined.loss(found, places, 2)[0] > EPSILON


@pytest.mark.parametrize("epsilon", [Fraction(1, 10**4), Fraction(1, 50), Fraction(3), Fraction(1000)])
@pytest.mark.parametrize("blocks", [(1,), (3, 1, 40), (1,) * 200])
def test_all_parts_of_epsilon_add_up(epsilon, blocks):
    problem = Problem(blocks, 3, Fraction(3, 2), Fraction(30), 2**30, 1e-5)
    found = terms(problem, epsilon)
    spent = found.rate.value * found.hides + problem.bend / Fraction(found.known.ridge)
    spent += found.after.value * found.moves
    assert spent <= epsilon
    if found.rate.value * sum(blocks) < 15:  # else there is next to no noise, and more than needed
        assert spent > 0.999 * epsilon
    assert found.hides >= Fraction(3, 2) * 2**found.bits + 3 * max(blocks)
    apart = found.known.tolerance + problem.inexact + math.sqrt(problem.size) / 2 ** (found.bits + 1)
    in_units = 2 * apart * math.sqrt(problem.size) / found.known.ridge * 2**found.grid
    assert found.moves >= in_units + problem.size
    assert 0 <= found.grid <= POSITION_BITS


def test_an_epsilon_too_small_is_refused():
    with pytest.raises(ValueError, match="rate must be at least"):
        terms(Problem((1,) * 1000, 10, Fraction(3, 2), Fraction(100), 2**30, 1e-5), Fraction(1, 10**4))


# --- the search ------------------------------------------------------------------------------------------


def weighted(objective, records, weights=None):
    """Gradient of the rows' losses in doubles, and nothing to steer by."""
    weights = np.ones(len(records)) if weights is None else weights

    def gradient(at):
        w = np.ldexp(at.astype(float), -POSITION_BITS)
        assert (w**2).sum() < LONGEST**2
        sums = np.zeros(w.shape)
        for record, weight in zip(records, weights, strict=True):
            sums += weight * objective.of_rows([record], w)[0]
        return sums

    return gradient


def steer(ridge):
    return lambda _: lambda gradient: gradient / ridge


def left(objective, records, weights, found, slope, at):
    """Length of the gradient of the whole objective at a position."""
    w = np.ldexp(at.astype(float), -POSITION_BITS)
    beyond = float(max(sum(Fraction(int(x), 2**POSITION_BITS) ** 2 for x in at.ravel()) - 3072, 0))
    rest = (found.known.ridge + found.known.wall * beyond) * w + slope
    return np.linalg.norm(weighted(objective, records, weights)(at) + rest)


WALLED = [((1, 1 / 64), 1), ((1, -1 / 64), 0)]  # separable, but only far out
TABLES = {
    "no row": ([], None),
    "one row": (TWO[:1], None),
    "one class": ([record for record in TWO if record[1] == 1] * 5, None),
    "separable": ([((1, 1), 1), ((1, -1), 0)] * 20, None),
    "separable far out, as many rows as may be": (WALLED, np.array([2.0**29, 2.0**29])),
    "contradictory, as many rows as may be": (TWO[:2], np.array([2.0**29, 2.0**28])),
}


@pytest.mark.parametrize("steep", [0.0, 1.0, 1e4, "most"])
@pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(100)], ids=float)
@pytest.mark.parametrize("name", TABLES)
def test_every_search_ends_where_the_gradient_is_within_its_tolerance(name, epsilon, steep):
    records, weights = TABLES[name]
    objective = Objective(pull_of_two, 1, (1, 1), "1/2", "1/4", TWO)
    found = terms(objective.problem._replace(inexact=1e-4), epsilon)
    size = found.most * 2.0**-found.bits if steep == "most" else steep
    for direction in ([1, 1], [-1, 0.25], [0, -1]):
        slope = size * np.array(direction, float)[:, None]
        at = minimum(weighted(objective, records, weights), steer(found.known.ridge), slope, found.known)
        assert left(objective, records, weights, found, slope, at) <= 1.01 * found.known.tolerance


def test_a_search_ends_although_gradients_are_off_by_all_that_is_allowed():
    """Errors of the full length, in a direction that changes from place to place as if drawn."""
    objective, records = CASES["two classes, two blocks"][0], TWO * 3
    found = terms(objective.problem._replace(inexact=0.05, rows=100), Fraction(10))
    exact = weighted(objective, records)

    def gradient(at):
        angle = hash(at.tobytes()) % 1000 / 500 * math.pi
        return exact(at) + 0.05 * np.array([[math.cos(angle)], [math.sin(angle)]])

    for seed in range(20):
        slope = np.random.default_rng(seed).normal(0, 3, (2, 1))
        at = minimum(gradient, steer(found.known.ridge), slope, found.known)
        assert left(objective, records, None, found, slope, at) <= found.known.tolerance + 0.05


def test_a_search_ends_although_it_is_steered_badly():
    objective, records = CASES["two classes, two blocks"][0], [((1, 1), 1), ((1, -1), 0)] * 20
    found = terms(objective.problem, Fraction(100))
    slope = np.array([[3.0], [-2.0]])
    for bad in (lambda g: -g, lambda g: 1e300 * g, lambda g: np.nan * g, lambda g: 1e-9 * g[::-1]):
        at = minimum(weighted(objective, records), lambda _, bad=bad: bad, slope, found.known)
        assert left(objective, records, None, found, slope, at) <= 1.01 * found.known.tolerance


@pytest.mark.parametrize("slope", [-0.3, 0.0, 2.0, -50.0, 4000.0])
@pytest.mark.parametrize("records", [(), (ONE[5],), tuple(ONE), (ONE[4], ONE[4], ONE[5])], ids=len)
def test_the_minimum_is_where_bisection_finds_it(records, slope):
    objective = CASES["two classes, one coordinate"][0]
    found = terms(objective.problem, EPSILON)
    low, high = -LONGEST, LONGEST
    for _ in range(200):
        middle = (low + high) / 2
        w = np.array([[middle]])
        rest = found.known.ridge + found.known.wall * max(middle**2 - 3072, 0)
        is_below = objective.of_rows(records, w)[0][0, 0] + slope + rest * middle < 0
        low, high = (middle, high) if is_below else (low, middle)
    slopes = np.array([[slope]])
    whole = rounded_minimum(found, weighted(objective, records), steer(found.known.ridge), slopes)
    certified = (found.known.tolerance + objective.problem.inexact) / found.known.ridge
    assert abs(whole[0, 0] * 2.0**-found.grid - low) <= certified + 2.0 ** -(found.grid + 1)


# --- the sampler -----------------------------------------------------------------------------------------


def test_what_is_drawn_has_the_distribution_that_was_paid_for():
    """Binomial tests at nine places; 1e-7 for each."""
    objective, records = CASES["two classes, one coordinate"][0], (ONE[5], ONE[5], ONE[4], ONE[0])
    found = terms(objective.problem, EPSILON)
    words = RandomWords.seeded(3)
    drawn = np.array([
        perturbed_minimum(
            objective.problem, found, weighted(objective, records), steer(found.known.ridge), words
        )[0, 0]
        for _ in range(2000)
    ])  # fmt: skip
    a, scale = float(found.rate), 2.0**found.bits
    for place in np.linspace(-1.6, 2.0, 9):
        w = np.array([[place]])
        # w* <= place if b is at least what makes it so; b is as good as continuous
        b = -(objective.of_rows(records, w)[0][0, 0] + found.known.ridge * place) * scale
        wanted = 0.5 * math.exp(-a * b) if b > 0 else 1 - 0.5 * math.exp(a * b)
        assert binomtest(int((drawn * 2.0**-found.grid <= place).sum()), len(drawn), wanted).pvalue > 1e-7


def test_noise_beyond_what_a_search_can_follow_stops_before_any_row_is_looked_at():
    objective = CASES["two classes, one coordinate"][0]
    found = terms(objective.problem, EPSILON)._replace(most=0)

    def look(at):
        raise AssertionError("A row was looked at.")

    with pytest.raises(OverflowError, match="beyond"):
        perturbed_minimum(objective.problem, found, look, look, RandomWords.seeded(0))
