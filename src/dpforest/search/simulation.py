"""`simulate`: which epsilon, answered on rows that are nobody's."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from dpforest.forests.base import PrivateForest
from dpforest.privacy import nobody_pays
from dpforest.privacy.exact import short
from dpforest.privacy.tables import data_frame, html_table, text_table
from dpforest.schema import Schema
from dpforest.search.made_up import made_up_features, made_up_target

EPSILONS = (0.1, 0.3, 1.0, 3.0, 10.0)
MOST_ROWS = 10_000_000
HEADER = ("epsilon", "mean", "lowest", "highest")


class Simulated(NamedTuple):
    """How well a forest did at one epsilon: mean, lowest and highest of all repeats."""

    epsilon: float
    mean: float
    lowest: float
    highest: float


@dataclass(frozen=True)
class Simulation:
    """What `simulate` found.

    Parameters
    ----------
    lines : tuple of Simulated
        One for every epsilon, then one without noise (epsilon infinite).
    score : {"accuracy", "R2"}
        What was measured, on rows that the forest was not trained on.
    guess : float
        Score of who says the most common class, or the mean.
    best : float or None
        Score of who knows the rule by which the rows were made up; None for rows that were given.
    rows : int
        Rows of each training.
    """

    lines: tuple[Simulated, ...]
    score: str
    guess: float
    best: float | None
    rows: int

    @property
    def words(self) -> str:
        """What the figures are about, and what not."""
        made = (
            "the rows that were given" if self.best is None else "made-up rows, drawn evenly from the schema"
        )
        rule = "" if self.best is None else f", {self.best:.3f} by who knows the rule"
        return (
            f"{self.score} on {made}, {self.rows} for each training; {self.guess:.3f} by guessing{rule}. "
            "No private row was looked at: this says nothing about any private table."
        )

    def to_records(self) -> list[dict[str, float]]:
        """Return one dictionary per epsilon."""
        return [line._asdict() for line in self.lines]

    def to_frame(self) -> Any:
        """Return the lines as a pandas DataFrame; pandas must be installed."""
        return data_frame(self.to_records(), HEADER)

    def _cells(self) -> list[list[str]]:
        return [
            ["no privacy" if math.isinf(line.epsilon) else short(line.epsilon)]
            + [f"{value:.3f}" for value in line[1:]]
            for line in self.lines
        ]

    def __str__(self) -> str:
        return f"{text_table(HEADER, self._cells(), frozenset(HEADER))}\n{self.words}"

    def _repr_html_(self) -> str:
        return html_table(HEADER, self._cells(), self.words)


def simulate(
    model: PrivateForest,
    rows: int | None = None,
    *,
    epsilons: Sequence[float] = EPSILONS,
    public: tuple[Any, Any] | None = None,
    best: float = 0.85,
    repeats: int = 5,
    seed: int = 0,
) -> Simulation:
    """Tell how well a forest does at several epsilons on rows that are nobody's; free.

    Which epsilon is needed depends on the table, and looking at private rows to find out would cost epsilon.
    So rows are made up: features drawn evenly from the schema, a target that follows five of them, as noisy
    as `best` says. Or give public rows that resemble the private ones, which tell much more.

    Parameters
    ----------
    model : forest
        Not fitted; with a schema, or, with `public`, its short forms. Its epsilon and accountant are not
        used.
    rows : int, optional
        About how many private rows there are, if that is public; with `public` all of those by default.
    epsilons : sequence of float
        What to try.
    public : (X, y), optional
        Public rows. Four fifths train, drawn again and again if there are fewer than `rows`.
    best : float, default=0.85
        Share of made-up rows whose class could be told at best, or of the variance that could be explained.
    repeats : int, default=5
        Tables that are drawn and forests that are trained for each epsilon.
    seed : int, default=0
        Of the rows; the noise of forests is never seeded.

    Returns
    -------
    Simulation
        A small table, with the lowest and highest of all repeats.

    Examples
    --------
    >>> from dpforest import PrivateForestClassifier, simulate
    >>> from dpforest.schema import Classes, Nominal, Numeric, Schema
    >>> schema = Schema({"age": Numeric(18, 100), "ward": Nominal(["A", "B"])}, Classes(["home", "died"]))
    >>> found = simulate(PrivateForestClassifier(schema=schema), 2000, epsilons=[0.1, 10], repeats=2)
    >>> found.lines[1].mean > found.guess
    True
    """
    if not isinstance(model, PrivateForest):
        raise TypeError("simulate needs a forest of this library.")
    if isinstance(repeats, bool) or not isinstance(repeats, int) or repeats < 1:
        raise ValueError(f"repeats must be a whole number, 1 or more, got {repeats!r}.")
    if not 0 < best < 1:
        raise ValueError(f"best must be a number in (0, 1), got {best!r}.")
    rng, schema = np.random.default_rng(seed), _schema_of(model)
    drawn = [_draw(schema, rows, public, best, rng) for _ in range(repeats)]
    tried, found = [*(float(epsilon) for epsilon in epsilons), math.inf], []
    for epsilon in tried:
        scores = [_score(model, epsilon, table) for table in drawn]
        found.append(Simulated(epsilon, float(np.mean(scores)), min(scores), max(scores)))
    is_class = model._task == "classification"
    guess = float(np.mean([_guess(table) if is_class else 0.0 for table in drawn]))  # R2 of the mean
    known = None if public is not None else float(np.mean([table.best for table in drawn]))
    return Simulation(tuple(found), "accuracy" if is_class else "R2", guess, known, len(drawn[0].y))


class _Table(NamedTuple):
    X: Any
    y: NDArray[Any]
    X_new: Any
    y_new: NDArray[Any]
    best: float


def _schema_of(model: PrivateForest) -> Schema | None:
    schema = model.schema
    return Schema.from_dict(schema) if isinstance(schema, dict) else schema


def _draw(
    schema: Schema | None, rows: int | None, public: Any, best: float, rng: np.random.Generator
) -> _Table:
    """Draw rows to train on and rows to score on."""
    if rows is not None and not (isinstance(rows, int) and 1 <= rows <= MOST_ROWS):
        raise ValueError(f"rows must be a whole number from 1 to {MOST_ROWS}, got {rows!r}.")
    if public is not None:
        X, y = public
        order = rng.permutation(len(y))
        held = max(1, len(y) // 5)
        train = order[held:] if rows is None else rng.choice(order[held:], rows, replace=rows > len(y) - held)
        rest = order[:held]
        return _Table(_taken(X, train), _taken(y, train), _taken(X, rest), _taken(y, rest), best)
    if schema is None or rows is None:
        raise ValueError("simulate needs a schema and a number of rows, or public rows.")
    X = made_up_features(schema, rows + 5000, rng)
    y, reached = made_up_target(X, schema, best, rng)
    return _Table(X[:rows], y[:rows], X[rows:], y[rows:], reached)


def _taken(table: Any, places: NDArray[np.int64]) -> Any:
    return table.iloc[places] if hasattr(table, "iloc") else np.asarray(table)[places]


def _score(model: PrivateForest, epsilon: float, table: _Table) -> float:
    with nobody_pays():  # these rows are nobody's
        forest = clone(model).set_params(epsilon=epsilon, accountant=None, verbose=0).fit(table.X, table.y)
    return float(forest.score(table.X_new, table.y_new))


def _guess(table: _Table) -> float:
    labels, counts = np.unique(np.asarray(table.y), return_counts=True)
    return float((np.asarray(table.y_new) == labels[counts.argmax()]).mean())
