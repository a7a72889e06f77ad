"""Outcomes that give two tables away, and rules that guess the table by them.

`wagers` calls `find_rule` with the runs so far and uses the rule on the runs to come. An outcome is a cut of
one column or of a learned score (`scores`), or a set of values that came more than once: a value without
noise, or with noise of few bits, is an atom that its neighbour does not have.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpforest._arrays import FloatArray
from dpforest.audit.columns import Column
from dpforest.audit.evidence import Guesses
from dpforest.audit.scores import Chosen, SumScore, TreeScore

Relation = Literal[">=", "<=", "=", "in"]

FEW_VALUES = 40  # columns with at most this many values are cut at each of them
MOST_REPEATED = 10  # of other columns, values that are compared for equality
LEVELS = np.concatenate([[0.002, 0.005, 0.01, 0.02], np.linspace(0.04, 0.96, 24), [0.98, 0.99, 0.995, 0.998]])
SCORED_COLUMNS = 30  # scores are learned from the columns that separate the tables best
LEARNING_RUNS = 12  # of each table; with fewer, scores would learn chance
CHANCE_BY_ATOMS = 3.0  # how much more often a value came with one table to be in its set
FINALISTS = 4
DOUBT = 1.0  # standard deviations by which a chosen outcome may look better than it is


@dataclass(frozen=True)
class Outcome:
    """A set of outputs: those whose column, or score, is at least, at most, equal to or among some values.

    Parameters
    ----------
    of : int or Chosen
        Position of the column, or a learned score.
    relation : {">=", "<=", "=", "in"}
        How it is compared.
    values : tuple of float
        With what; one value unless the relation is "in".
    name : str
        The column in words.
    flag : bool, default=False
        Whether the column says whether the name is true.
    """

    of: int | Chosen
    relation: Relation
    values: tuple[float, ...]
    name: str
    flag: bool = False

    def holds(self, matrix: FloatArray) -> NDArray[np.bool_]:
        """In which runs it came out."""
        x = matrix[:, self.of] if isinstance(self.of, int) else self.of(matrix)
        if self.relation == "in":
            return np.isin(x, self.values)
        if self.relation == "=":
            return np.asarray(x == self.values[0])
        return np.asarray(x >= self.values[0] if self.relation == ">=" else x <= self.values[0])

    def __str__(self) -> str:
        if self.flag:
            yes = {">=": self.values[0] > 0, "<=": False}.get(self.relation, 1.0 in self.values)
            return self.name if yes else f"not: {self.name}"
        return f"{self.name} {self.cut()}"

    def cut(self) -> str:
        """How the column is compared, in words."""
        if self.relation == "in":
            shown = ", ".join(f"{value:.4g}" for value in self.values[:3])
            more = ", ..." if len(self.values) > 3 else ""
            return f"is one of {len(self.values)} values that repeat ({shown}{more})"
        return f"{self.relation} {self.values[0]:.4g}"


@dataclass(frozen=True)
class Rule:
    """Guess the first table on one outcome and the second on another, or only one of them.

    Parameters
    ----------
    first, second : Outcome or None
        The outcomes; where both hold, or neither, the rule abstains.
    """

    first: Outcome | None
    second: Outcome | None

    def guess(self, matrix: FloatArray) -> NDArray[np.int64]:
        """Return 1 for the first table, -1 for the second, 0 for no guess."""
        said = np.zeros(len(matrix), np.int64)
        for outcome, sign in ((self.first, 1), (self.second, -1)):
            if outcome is not None:
                said += sign * outcome.holds(matrix)
        return said

    def judge(self, first: FloatArray, second: FloatArray) -> Guesses:
        """Count right and wrong guesses in runs with either table."""
        one, other = self.guess(first), self.guess(second)
        right, wrong = ((one == sign).sum() + (other == -sign).sum() for sign in (1, -1))
        return Guesses(int(right), int(wrong), len(first) + len(second))

    @property
    def learned(self) -> bool:
        """Whether more than a cut was found in earlier runs."""
        parts = [outcome for outcome in (self.first, self.second) if outcome is not None]
        return any(part.relation == "in" or isinstance(part.of, Chosen) for part in parts)

    def __str__(self) -> str:
        parts = [outcome for outcome in (self.first, self.second) if outcome is not None]
        if len(parts) == 2 and parts[0].name == parts[1].name:
            if parts[0].flag:  # one is the opposite of the other
                return parts[0].name
            return f"{parts[0]}, against {parts[1].cut()}"
        return ", against ".join(map(str, parts)) or "nothing"


class _Source(NamedTuple):
    """A column or score with its values in runs with either table."""

    of: int | Chosen
    name: str
    flag: bool
    a: FloatArray
    b: FloatArray


class _Cut(NamedTuple):
    """Outcomes of one source by one relation, and how often they came with either table."""

    source: _Source
    relation: Relation
    values: Sequence[tuple[float, ...]]
    hits_a: NDArray[np.integer]
    hits_b: NDArray[np.integer]


def find_rule(
    first: FloatArray,
    second: FloatArray,
    columns: Sequence[Column],
    ahead: int,
    alpha: float,
    delta: float = 0.0,
) -> tuple[Rule, float]:
    """Find the rule that promises the largest lower bound on the loss.

    Scores and sets are learned on one half of the given runs and judged on the other: they look better than
    they are on the runs they were learned from.

    Parameters
    ----------
    first, second : ndarray of shape (n_runs, n_columns)
        Runs with either table, equally many.
    columns : sequence of Column
        What the columns are.
    ahead : int
        Runs to come, on which the rule will be used.
    alpha, delta : float
        Of the bound to come.

    Returns
    -------
    rule : Rule
        The best one.
    hope : float
        About the bound that it will give; for comparing pairs, not for reporting.
    """
    sources = [
        _Source(i, str(column), column.phrase is not None, first[:, i], second[:, i])
        for i, column in enumerate(columns)
    ]
    cuts = [cut for source in sources for cut in _cuts(source)]
    if len(first) >= LEARNING_RUNS and len(columns):
        learn, judge = (first[0::2], second[0::2]), (first[1::2], second[1::2])
        cuts += _learned(learn, judge, columns)
    if not cuts:
        return Rule(None, None), -math.inf
    hope = _Hope(ahead, alpha, delta)
    finalists = [[None, *_best(cuts, hope, first_likelier)] for first_likelier in (True, False)]
    best, most = Rule(None, None), -math.inf
    for one, other in product(*finalists):
        rule = Rule(one, other)
        begin, step = (1, 2) if rule.learned else (0, 1)  # runs that nothing was learned from
        guesses = rule.judge(first[begin::step], second[begin::step])
        expected = float(hope(np.array([guesses.right]), np.array([guesses.wrong]), guesses.runs)[0])
        if expected > most:
            best, most = rule, expected
    return best, most


@dataclass(frozen=True)
class _Hope:
    """The bound to expect of so many right and wrong guesses, as a function that is fast to compute."""

    ahead: int
    alpha: float
    delta: float

    def __call__(
        self, right: NDArray[np.integer], wrong: NDArray[np.integer], runs: int | NDArray[Any]
    ) -> FloatArray:
        guesses = np.maximum(right + wrong, 1e-9)
        share = _wilson(right / guesses, guesses, -DOUBT)
        share = np.maximum(share - self.delta * runs / guesses, 0.0)
        to_come = guesses * self.ahead / runs
        # -ln(alpha) and the price of not knowing the best stake, in units of the normal distribution
        z = math.sqrt(2 * (2.5 - math.log(self.alpha)))
        low = np.clip(_wilson(share, to_come, -z), 1e-12, 1 - 1e-12)
        return np.asarray(np.log(low / (1 - low)))


def _best(cuts: list[_Cut], hope: _Hope, first_likelier: bool) -> list[Outcome]:
    """Return the most promising outcomes that are likelier with one table, each of another source."""
    sizes = [len(cut.values) for cut in cuts]
    starts = np.concatenate([[0], np.cumsum(sizes)])
    runs = np.repeat([len(cut.source.a) + len(cut.source.b) for cut in cuts], sizes)
    a, b = (np.concatenate([cut[side] for cut in cuts]) for side in (3, 4))
    expected = hope(a, b, runs) if first_likelier else hope(b, a, runs)
    found: dict[int, Outcome] = {}
    for at in np.argsort(-expected, kind="stable"):
        which = int(np.searchsorted(starts, at, "right")) - 1
        cut = cuts[which]
        source = cut.source
        if id(source) not in found:
            value = cut.values[int(at - starts[which])]
            found[id(source)] = Outcome(source.of, cut.relation, value, source.name, source.flag)
        if len(found) == FINALISTS:
            break
    return list(found.values())


def _cuts(source: _Source) -> Iterator[_Cut]:
    """Cut a column or score at its values, or at some of them, and at those that repeat."""
    a, b = (np.sort(x[~np.isnan(x)]) for x in (source.a, source.b))
    both = np.sort(np.concatenate([a, b]))
    values, counts = np.unique(both, return_counts=True)
    if len(values) == 0:
        return
    few = len(values) <= FEW_VALUES
    # values of the column, not between them: infinite ones have nothing in the middle
    at = values if few else np.unique(both[(LEVELS * len(both)).astype(np.int64)])
    below_a, below_b = (np.searchsorted(x, at, "left") for x in (a, b))
    upto_a, upto_b = (np.searchsorted(x, at, "right") for x in (a, b))
    singles = [(float(value),) for value in at]
    yield _Cut(source, ">=", singles, len(a) - below_a, len(b) - below_b)
    yield _Cut(source, "<=", singles, upto_a, upto_b)
    if few:
        yield _Cut(source, "=", singles, upto_a - below_a, upto_b - below_b)
        return
    often = np.argsort(-counts, kind="stable")[:MOST_REPEATED]
    repeated = values[often[counts[often] > 1]]
    if len(repeated):
        hits = [np.searchsorted(x, repeated, "right") - np.searchsorted(x, repeated, "left") for x in (a, b)]
        yield _Cut(source, "=", [(float(value),) for value in repeated], *hits)


def _learned(
    learn: tuple[FloatArray, FloatArray], judge: tuple[FloatArray, FloatArray], columns: Sequence[Column]
) -> Iterator[_Cut]:
    """Learn scores of several columns and sets of values on some runs, and cut others by them."""
    apart = np.array([_distance(*(side[:, i] for side in learn)) for i in range(len(columns))])
    chosen = np.sort(np.argsort(-apart, kind="stable")[:SCORED_COLUMNS])
    if len(columns) > 1:
        for kind in (SumScore, TreeScore):
            score = Chosen(kind.learn(*(side[:, chosen] for side in learn)), chosen)
            main = "; ".join(str(columns[i]) for i in score.main(3))
            name = f"a learned score (mostly of {main})"
            yield from _cuts(_Source(score, name, False, *(score(side) for side in judge)))
    for i, column in enumerate(columns):
        if column.phrase is not None:
            continue
        source = _Source(i, str(column), False, *(side[:, i] for side in judge))
        for values in _atoms(*(side[:, i] for side in learn)):
            hits = [np.array([np.isin(side, values).sum()]) for side in (source.a, source.b)]
            yield _Cut(source, "in", [tuple(values.tolist())], *hits)


def _atoms(a: FloatArray, b: FloatArray) -> Iterator[FloatArray]:
    """Values that came more than once, and much more often with one table than with the other."""
    values, where = np.unique(np.concatenate([a, b]), return_inverse=True)
    if len(values) == len(a) + len(b):
        return
    from_a, from_b = (np.bincount(part, minlength=len(values)) for part in (where[: len(a)], where[len(a) :]))
    known = ~np.isnan(values)
    for mine, other in ((from_a, from_b), (from_b, from_a)):
        found = values[known & (mine > 1) & (mine > CHANCE_BY_ATOMS * other)]
        if len(found) > 1:
            yield found


def _distance(a: FloatArray, b: FloatArray) -> float:
    """Return the largest difference of the distribution functions, NaN being above all."""
    at = np.unique(np.concatenate([a, b]))
    upto = [np.searchsorted(np.sort(x), at, "right") / len(x) for x in (a, b)]
    return float(np.abs(upto[0] - upto[1]).max())


def _wilson(p: FloatArray, n: FloatArray, z: float) -> FloatArray:
    """Wilson's score bound of a probability, lower for negative z."""
    centre = p + z * z / (2 * n)
    spread = z * np.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    return np.asarray((centre + spread) / (1 + z * z / n))
