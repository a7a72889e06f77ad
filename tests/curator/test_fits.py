"""Weights that are fitted to rows: charged first, refused where they are not priced, certified, replayed."""

from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest

from dpforest import PrivateForestClassifier, mechanisms
from dpforest._curator import ONE, Block, Curator, PrivateTable, Wanted, fits, watched_by
from dpforest._curator.fits import _Fit
from dpforest._rows import MAX_FITTED_ROWS, MemoryRows, _pulls
from dpforest._rows.pulls import Loss, Pulls
from dpforest.audit.replay.movement import Movement, price
from dpforest.mechanisms import POSITION_BITS, RandomWords, terms
from dpforest.mechanisms.minimum import minimum
from dpforest.privacy import BudgetPlan, Kind, NeighboringRelation, PrivacyError, PrivacyLeakWarning, Query
from dpforest.schema import Classes, Schema
from tests.counting import rows_of_cells
from tests.curator.conftest import CLASSES, FEATURES, TARGET, rows_of
from tests.neighbours import neighbours
from tests.rows.test_pulls import exact

TWO = Schema(FEATURES, Classes([0, 1]))
BLOCKS = [
    Block(0, np.full((6, 1), ONE)),
    Block(0, np.array([-64, -21, 21, 64, 0, 0])[:, None]),
    Block(1, ONE * np.eye(5, dtype=np.int64)),
]
QUERY, WHOLE, WANTED = Query(Kind.FITTED_WEIGHTS), Fraction(1), Wanted(4.0, 2.0)
SCHEMAS = {Loss.TWO_CLASSES: TWO, Loss.SEVERAL_CLASSES: CLASSES, Loss.NUMBERS: TARGET}
DOMAIN = [(0.1, "a"), (0.6, "b"), (0.9, "?")]
TABLES = {
    "empty": [],
    "one row": [(0.1, "a", 1)],
    "one class": [(0.1, "a", 1), (0.6, "b", 1), (0.9, "c", 1)] * 5,
    "separable": [(0.1, "a", 0), (0.9, "a", 1)] * 50,
    "mixed": [(0.1, "a", 0), (0.9, "b", 1), (0.6, "c", 1), (0.3, "?", 0), (0.1, "a", 1)] * 20,
}


def curator_of(records, schema=TWO, epsilon=1, delta=0, relation=None, seed=0, **options):
    relation = relation or NeighboringRelation.ADD_OR_REMOVE_ONE
    plan = BudgetPlan.divide(epsilon, delta, {"all": 1}, relation=relation)
    return Curator(PrivateTable(*rows_of(records), schema), plan, RandomWords.seeded(seed), **options)


def ask(curator, **options):
    wanted = None if hasattr(curator.schema.target, "labels") else WANTED
    return curator.fitted_weights("all", WHOLE, QUERY, BLOCKS, 1.0, wanted, **options)


# --- the question ----------------------------------------------------------------------------------------


def test_it_is_charged_before_any_pull_is_looked_at(monkeypatch):
    looked = []
    with curator_of(TABLES["mixed"]) as curator:
        monkeypatch.setattr(Pulls, "add", lambda *_: looked.append(curator.ledger.total()))
        ask(curator)
        assert set(looked) == {curator.ledger.plan.total}
        looked.clear()
        with pytest.raises(PrivacyError):
            ask(curator)
    assert looked == []


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"delta": Fraction(1, 10**6)}, "pure epsilon"),
        ({"relation": NeighboringRelation.LABEL_CHANGE}, "labels that change"),
        ({"epsilon": Fraction(1, 10**9)}, "larger epsilon"),
    ],
    ids=["zcdp", "label privacy", "an epsilon too small"],
)
def test_what_is_refused_costs_nothing(options, message):
    with curator_of(TABLES["mixed"], **options) as curator:
        with pytest.raises((PrivacyError, ValueError), match=message):
            ask(curator)
        assert curator.ledger.total() == 0


def test_more_rows_than_the_errors_were_bounded_for_are_refused_and_cost_nothing(monkeypatch):
    monkeypatch.setattr(fits, "MAX_FITTED_ROWS", 99)
    with curator_of(TABLES["mixed"][:99]) as curator:
        ask(curator)
    with curator_of(TABLES["mixed"]) as curator:
        with pytest.raises(ValueError, match="at most"):
            ask(curator)
        assert curator.ledger.total() == 0


@pytest.mark.parametrize("options", [{}, {"one_in": 10**6}], ids=["steering", "fitting"])
def test_there_is_an_answer_however_many_rows_there_seem_to_be(options):
    """Rows cannot be put in more than 2**16 parts, of which a sample is one."""
    with curator_of(TABLES["mixed"]) as curator:
        asked = "all", WHOLE, QUERY, BLOCKS, 2.0**39
        assert np.isfinite(curator.fitted_weights(*asked, **options)).all()


def test_lines_longer_than_one_are_refused():
    with curator_of(TABLES["mixed"]) as curator, pytest.raises(ValueError, match="longer than 1"):
        curator.fitted_weights("all", WHOLE, QUERY, [Block(1, np.full((5, 2), 33))], 1.0)


@pytest.mark.parametrize("loss", Loss, ids=lambda loss: loss.value)
def test_it_runs_at_what_was_paid(monkeypatch, loss):
    """By hand: a row pulls by its reach at each of three blocks; its lines have squared length 1 + 1 + 1."""
    by_hand = {
        Loss.TWO_CLASSES: (Fraction(1, 2), Fraction(1, 4)),
        Loss.SEVERAL_CLASSES: (Fraction(3, 2), Fraction(2, 3)),
        Loss.NUMBERS: (Fraction(1), Fraction(1)),
    }
    ran = []
    run = mechanisms.perturbed_minimum
    monkeypatch.setattr(mechanisms, "perturbed_minimum", lambda *args: (ran.append(args[:2]), run(*args))[1])
    with curator_of(TABLES["mixed"], SCHEMAS[loss], epsilon=2) as curator:
        ask(curator)
    reach, bend = by_hand[loss]
    [(_, found)] = ran
    n_outputs = 3 if loss is Loss.SEVERAL_CLASSES else 1
    cost = found.rate.value * (reach * 2**found.bits + n_outputs * 5)
    cost += 3 * bend / Fraction(found.known.ridge) + found.after.value * found.moves
    assert 2 * 0.9999 < cost <= 2


@pytest.mark.parametrize("loss", Loss, ids=lambda loss: loss.value)
def test_without_noise_it_is_the_plain_minimum(loss):
    with curator_of(TABLES["mixed"], SCHEMAS[loss], epsilon=50, noiseless=True) as curator:
        weights = ask(curator)
        ridge = next(iter(curator.ledger)).parameters["ridge"]
    _, gradient, _ = searching(loss, TABLES["mixed"])
    at = np.rint(np.ldexp(weights, POSITION_BITS)).astype(np.int64)
    assert np.abs(gradient(at) + ridge * weights).max() < 1e-3
    assert np.abs(weights).max() > 0.05


# --- the search ------------------------------------------------------------------------------------------


def searching(loss, records, n_threads=1):
    """What the question would search with."""
    fit, schema = _Fit(loss, BLOCKS, SCHEMAS[loss]), SCHEMAS[loss]
    X, y = rows_of(records)
    cells, target = schema.encode_features(X), schema.encode_target(y)
    rows = rows_of_cells(cells, target, schema.n_cells, schema.n_codes, n_threads)
    asked = Pulls(rows.grid, loss, fit.scores(fit.nothing), fit.bits, None, WANTED.zero, 1 / WANTED.width)

    def gradient(at):
        return fit.along_lines(rows.fold(fit.pulls_at(asked, at)))

    def steer(at):
        return fit.rough_inverse(rows.fold(fit.bends_at(asked, at, None)), 1, 1.0)

    return fit, gradient, steer


def true_gradient(loss, records, at):
    """Sum of the rows' gradients at a position, in 60 digits."""
    schema = SCHEMAS[loss]
    X, y = rows_of(records)
    cells, target = schema.encode_features(X), schema.encode_target(y)
    w = [[Decimal(int(x)) / 2**POSITION_BITS for x in line] for line in at]
    sums = [[Decimal(0)] * at.shape[1] for _ in w]
    for of_row, code in zip(cells, target, strict=True):
        lines = np.concatenate([block.values[of_row[block.feature]] for block in BLOCKS])
        x = [Decimal(int(v)) / ONE for v in lines]
        scores = [
            sum(v * weight for v, weight in zip(x, of_output, strict=True))
            for of_output in zip(*w, strict=True)
        ]
        pull = exact(loss, scores, code, WANTED.zero, 1 / WANTED.width)
        for i, v in enumerate(x):
            for k, p in enumerate(pull):
                sums[i][k] += v * p
    return sums


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("loss", Loss, ids=lambda loss: loss.value)
def test_what_is_found_is_certified(loss, name):
    """The true gradient there is no longer than the proof says, whatever the linear term."""
    fit, gradient, steer = searching(loss, TABLES[name])
    found = terms(fit.problem, Fraction(2))
    for seed, size in enumerate([0.0, 1.0, 30.0, 2000.0]):
        slope = size * np.random.default_rng(seed).normal(size=fit.nothing.shape)
        at = minimum(gradient, steer, slope, found.known)
        with localcontext(prec=60):
            w = [[Decimal(int(x)) / 2**POSITION_BITS for x in line] for line in at]
            beyond = max(sum(x * x for line in w for x in line) - 3072, Decimal(0))
            rest = Decimal(found.known.ridge) + Decimal(found.known.wall) * beyond
            of_all = true_gradient(loss, TABLES[name], at)
            left = [
                g + Decimal(float(b)) + rest * x
                for of_rows, of_slope, of_w in zip(of_all, slope, w, strict=True)
                for g, b, x in zip(of_rows, of_slope, of_w, strict=True)
            ]
            length = float(sum(x * x for x in left).sqrt())
        assert length <= found.known.tolerance + fit.problem.inexact


@pytest.mark.parametrize("loss", Loss, ids=lambda loss: loss.value)
def test_the_gradient_is_as_exact_as_it_says(loss):
    """Per row, the errors are a small part of what is allowed for the largest table."""
    fit, gradient, _ = searching(loss, TABLES["mixed"])
    rng = np.random.default_rng(0)
    allowed = fit.problem.inexact / MAX_FITTED_ROWS * len(TABLES["mixed"])
    for size in (1e-3, 1.0, 20.0):
        at = np.rint(rng.normal(0, size, fit.nothing.shape) * 2.0**POSITION_BITS).astype(np.int64)
        with localcontext(prec=60):
            true = np.array(true_gradient(loss, TABLES["mixed"], at))
            error = [Decimal(float(g)) - t for g, t in zip(gradient(at).ravel(), true.ravel(), strict=True)]
            assert float(sum(e * e for e in error).sqrt()) <= allowed


def test_the_search_does_not_depend_on_blocks_and_threads():
    records = TABLES["mixed"] * 1000
    slope = np.random.default_rng(0).normal(0, 9, (7, 3))
    ends = []
    for n_threads in (1, 2):
        fit, gradient, steer = searching(Loss.SEVERAL_CLASSES, records, n_threads)
        ends.append(minimum(gradient, steer, slope, terms(fit.problem, WHOLE).known))
    assert (ends[0] == ends[1]).all()


# --- how far one row moves it ----------------------------------------------------------------------------


class Scribe:
    """Freezes the first answer, and writes down the gradient there."""

    def __init__(self, answer=None):
        self.frozen, self.tables, self.look = answer, [], None

    def asked(self, question, args, named):
        pass

    def answer(self, look, run, table, *public):
        self.tables.append(table)
        self.look = look
        if len(self.tables) == 1:
            self.frozen = run(table) if self.frozen is None else self.frozen
            return self.frozen
        return run(table)

    def scatter(self, draw):
        return draw()


def gradient_seen(records, loss, answer=None):
    scribe = Scribe(answer)
    with watched_by(scribe), curator_of(records, SCHEMAS[loss], epsilon=50) as curator:
        ask(curator)
    return scribe


def largest_steps(loss, base):
    """Steps by which the frozen gradient moves for a row in front, in the middle and at the end."""
    before = gradient_seen(base, loss)
    labels = range(len(SCHEMAS[loss].target.labels)) if loss is not Loss.NUMBERS else (0.0, 0.5, 1.0)
    most, share = 0, 0.0
    for number, letter in DOMAIN:
        for label in labels:
            for place in (0, len(base) // 2, len(base)):
                larger = [*base[:place], (number, letter, label), *base[place:]]
                after = gradient_seen(larger, loss, before.frozen)
                movement = Movement(before.look)
                for old, new in zip(before.tables, after.tables, strict=True):
                    movement.add(old, new)
                most = max(most, movement.steps(pure=True))
                share = max(share, movement.total / before.look.moves)
    assert price(before.look, pure=True) <= before.look.event.cost
    return most, share


BASES = {
    Loss.TWO_CLASSES: TABLES["separable"][:20],
    Loss.SEVERAL_CLASSES: TABLES["separable"][:20],
    Loss.NUMBERS: [(0.1, "a", 0.5), (0.6, "b", 0.5)] * 5,
}


@pytest.mark.parametrize("loss", Loss, ids=lambda loss: loss.value)
def test_one_row_moves_the_gradient_at_a_frozen_answer_by_what_was_paid(loss):
    steps, share = largest_steps(loss, BASES[loss])
    assert steps == 1
    assert share > 0.9


@pytest.mark.parametrize("loss", Loss, ids=lambda loss: loss.value)
def test_rows_that_are_counted_twice_are_found(monkeypatch, loss):
    add = Pulls.add
    monkeypatch.setattr(Pulls, "add", lambda *args: (add(*args), add(*args)))
    assert largest_steps(loss, BASES[loss])[0] == 2


def test_pulls_that_are_not_held_are_found(monkeypatch):
    kernel = _pulls.several_classes

    def unheld(cells, target, table, unit, powers, most, *rest):
        kernel(cells, target, table, unit, powers, 1.0, *rest)

    monkeypatch.setattr(_pulls, "several_classes", unheld)
    assert largest_steps(Loss.SEVERAL_CLASSES, BASES[Loss.SEVERAL_CLASSES])[0] == 2


@pytest.mark.parametrize("loss", Loss, ids=lambda loss: loss.value)
def test_no_neighbour_moves_the_gradient_by_more_than_its_reach_over_all_small_tables(loss):
    """In the norm of the noise: the sum over outputs of the block that moves most."""
    rng = np.random.default_rng(3)
    fit = _Fit(loss, BLOCKS, SCHEMAS[loss])
    places = [np.rint(rng.normal(0, s, fit.nothing.shape) * 2.0**POSITION_BITS) for s in (0, 0.5, 3, 12)]
    labels = (0.0, 1.0) if loss is Loss.NUMBERS else (0, 1)
    domain, moved = [(*x, y) for x in DOMAIN for y in labels], []
    for smaller, larger in neighbours(domain, 2):
        gradients = [searching(loss, records)[1] for records in (smaller, larger)]
        for place in places:
            one, two = (gradient(place.astype(np.int64)) for gradient in gradients)
            change = np.add.reduceat(np.abs(two - one), [0, 1, 2], axis=0)
            moved.append(change.max(axis=0).sum())
    assert 0.95 * float(loss.reach) < max(moved) <= float(loss.reach) + 1e-9


@pytest.mark.parametrize(
    ("n_rows", "n_features", "n_classes", "epsilon"), [(3000, 3, 5, 100.0), (8000, 2, 9, 1e6)]
)
def test_searches_next_to_separable_classes_end_soon(monkeypatch, n_rows, n_features, n_classes, epsilon):
    """With hardly a ridge a search took thousands of passes, or for ever."""
    passes, add_up = [], MemoryRows.fold

    def fold(self, table):
        passes.append(isinstance(table, Pulls))
        return add_up(self, table)

    monkeypatch.setattr(MemoryRows, "fold", fold)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, n_features))
    y = (X @ rng.normal(size=(n_features, n_classes)) + rng.gumbel(size=(n_rows, n_classes))).argmax(axis=1)
    model = PrivateForestClassifier(epsilon=epsilon, bounds=(-5, 5), classes=range(n_classes), random_state=0)
    with pytest.warns(PrivacyLeakWarning):
        model.fit(X, y)
    assert 0 < sum(passes) < 500
