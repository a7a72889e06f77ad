"""Pulls of rows at their scores: as exact as they say, no longer and no more bent than they say."""

import math
import pickle
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest

from dpforest._rows import Grid, MemoryRows
from dpforest._rows.pulls import FARTHEST, MOST_PULL, PULL_BITS, Loss, Pulls, pull_error

BITS = 48
CLASSES = {Loss.TWO_CLASSES: [2], Loss.SEVERAL_CLASSES: [3, 7, 100], Loss.NUMBERS: [9]}
CASES = [(loss, n) for loss, sizes in CLASSES.items() for n in sizes]


def pulls_of(loss, scores, target, n_codes, n_threads=1):
    """Pulls of rows, each in a cell of its own whose scores (in units) are given; as fractions."""
    n = len(scores)
    cells = np.arange(n, dtype=np.uint16)[:, None]
    spec = Pulls(Grid.of((n,), n_codes), loss, scores[None], BITS, zero=4.0, per_level=3.0)
    halves = MemoryRows(cells, np.asarray(target, np.int32), spec.grid, n_threads).fold(spec)
    return [
        [Fraction(int(high) * 2**24 + int(low), 2**PULL_BITS) for high, low in zip(*of_row, strict=True)]
        for of_row in np.moveaxis(halves[:, 0], 0, 1)
    ]


def random_scores(loss, n_codes, n=300, seed=0):
    """Scores of all sizes, and some alike, in units."""
    rng = np.random.default_rng(seed)
    shape = (n, loss.n_outputs(n_codes))
    spread = 10.0 ** rng.uniform(-6, 2.5, (n, 1))
    scores = np.rint(rng.normal(0, spread, shape) * 2.0**BITS).astype(np.int64)
    scores[:5] = 0
    scores[5:9] //= 2**40
    return scores, rng.integers(0, n_codes, n)


def exact(loss, scores, y, zero=4.0, per_level=3.0):
    """The derivative by the scores, in as many digits as there are."""
    if loss is Loss.NUMBERS:
        wanted = min(max((int(y) - zero) * per_level, -FARTHEST), FARTHEST)
        return [min(max(scores[0] - Decimal(wanted), Decimal(-1)), Decimal(1))]
    if loss is Loss.TWO_CLASSES:
        margin = scores[0] if y else -scores[0]
        size = min(1 / (1 + margin.exp()), Decimal("0.5"))
        return [-size if y else size]
    highest = max(scores)
    powers = [(s - highest).exp() for s in scores]
    others = sum(power for k, power in enumerate(powers) if k != y)
    size = min(others / (others + powers[y]), Decimal("0.75"))
    return [-size if k == y else power / others * size for k, power in enumerate(powers)]


@pytest.mark.parametrize(("loss", "n_codes"), CASES)
def test_pulls_are_as_exact_as_they_say(loss, n_codes):
    scores, target = random_scores(loss, n_codes)
    bound = pull_error(loss, loss.n_outputs(n_codes))
    with localcontext(prec=60):
        for found, of_row, y in zip(pulls_of(loss, scores, target, n_codes), scores, target, strict=True):
            wanted = exact(loss, [Decimal(int(s)) / 2**BITS for s in of_row], y)
            error = [Decimal(f.numerator) / f.denominator - w for f, w in zip(found, wanted, strict=True)]
            assert sum(e * e for e in error).sqrt() <= Decimal(bound)


@pytest.mark.parametrize(("loss", "n_codes"), CASES)
def test_pulls_reach_as_far_as_they_say_and_no_farther(loss, n_codes):
    scores, target = random_scores(loss, n_codes)
    lengths = [sum(map(abs, pull)) for pull in pulls_of(loss, scores, target, n_codes)]
    rounded = Fraction(loss.n_outputs(n_codes), 2**PULL_BITS)
    assert loss.reach * Fraction(999, 1000) <= max(lengths) <= loss.reach + rounded


@pytest.mark.parametrize(("loss", "n_codes"), CASES)
def test_losses_are_convex_and_bend_no_more_than_they_say(loss, n_codes):
    """Pulls at neighbouring scores, in every direction: second derivatives by differences."""
    n_outputs, h, n = loss.n_outputs(n_codes), 2.0**-16, 60
    rng, traces = np.random.default_rng(1), []
    near = rng.normal(0, rng.choice([0.01, 0.5, 2.0, 6.0], (n, 1)), (n, n_outputs))
    if loss is Loss.NUMBERS:
        near += 3.0  # rows with y = 5 want it
    at = np.rint(near * 2.0**BITS).astype(np.int64)
    target = np.full(n, 5) if loss is Loss.NUMBERS else rng.integers(0, n_codes, n)
    derivative = np.zeros((n, n_outputs, n_outputs))
    for k in range(n_outputs):
        step = np.zeros(n_outputs, np.int64)
        step[k] = int(h * 2.0**BITS)
        up = np.array(pulls_of(loss, at + step, target, n_codes), float)
        down = np.array(pulls_of(loss, at - step, target, n_codes), float)
        derivative[:, k] = (up - down) / (2 * h)
    assert np.abs(derivative - np.moveaxis(derivative, 1, 2)).max() < 0.02  # it is a derivative
    for of_row in derivative:
        assert np.linalg.eigvalsh((of_row + of_row.T) / 2).min() > -1e-4
        traces.append(np.trace(of_row))
    bound = float(loss.bend(n_outputs))
    assert 0.7 * bound <= max(traces) <= bound + 1e-4


def test_the_largest_trace_of_several_classes_is_where_the_pull_begins_to_be_held():
    m = float(MOST_PULL)
    others = math.log(m / (1 - m) / 99 * 0.999)  # each of 99, less the row's own: a share just below m
    scores = np.array([[0.0] + [others] * 99])
    at, h = np.rint(scores * 2.0**BITS).astype(np.int64), 2.0**-20
    trace = 0.0
    for k in range(100):
        step = np.zeros(100, np.int64)
        step[k] = int(h * 2.0**BITS)
        up, down = (pulls_of(Loss.SEVERAL_CLASSES, place, [0], 100)[0][k] for place in (at + step, at - step))
        trace += float(up - down) / (2 * h)
    bound = float(Loss.SEVERAL_CLASSES.bend(100))
    assert 0.99 * bound < trace <= bound + 1e-6


@pytest.mark.parametrize(("loss", "n_codes"), CASES)
def test_sums_do_not_depend_on_blocks_threads_or_the_way_to_a_worker(loss, n_codes):
    scores, _ = random_scores(loss, n_codes, 40)
    rng = np.random.default_rng(2)
    rows = rng.integers(0, 40, (100_000, 2)).astype(np.uint8)
    labels = rng.integers(-1, n_codes, len(rows)).astype(np.int32)
    table = np.stack([scores, scores[::-1]]) // 2
    spec = Pulls(Grid.of((40, 40), n_codes), loss, table, BITS, zero=4.0, per_level=3.0)
    one, two = (MemoryRows(rows, labels, spec.grid, threads) for threads in (1, 2))
    wanted = one.fold(spec)
    assert (two.fold(pickle.loads(pickle.dumps(spec))) == wanted).all()
    parts = [
        MemoryRows(rows[cut], labels[cut], spec.grid, 1).fold(spec)
        for cut in (slice(0, 7), slice(7, 60_000), slice(60_000, None))
    ]
    assert (sum(parts) == wanted).all()


def test_rows_without_a_target_pull_at_nothing():
    scores, _ = random_scores(Loss.SEVERAL_CLASSES, 3, 10)
    assert not np.any(pulls_of(Loss.SEVERAL_CLASSES, scores, np.full(10, -1), 3))


def test_scores_that_would_leave_64_bits_are_refused():
    with pytest.raises(ValueError, match="64 bits"):
        Pulls(Grid.of((2,), 2), Loss.TWO_CLASSES, np.full((1, 2, 1), 2**62), BITS)
