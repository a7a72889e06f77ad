"""How a model's answer changes along each column: released values only, asked at made-up rows.

A shape is the mean answer over rows that are spread evenly over the declared domain, with one column set to
one value after another. The rows follow from the schema alone: no private row is involved, nothing is paid.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpforest.schema import Classes, Date, Feature, Numeric, Ordinal

MADE_UP = 64  # rows that an answer is averaged over
POINTS = 24  # of a numeric column
MOST_LEVELS = 12  # of a list of categories that is shown
MOST_COLUMNS = 12
MOST_LINES = 3


class Line(NamedTuple):
    """What is drawn: the mean answer at every point, and what it is an answer about."""

    about: str
    values: tuple[float, ...]


class Shape(NamedTuple):
    """The shape of a column: where it was asked, whether the places have an order, and the answers."""

    name: str
    points: tuple[str, ...]
    ordered: bool
    lines: tuple[Line, ...]


def shapes_of(model: Any, names: list[str]) -> list[Shape]:
    """Return the shapes of some columns.

    Parameters
    ----------
    model : fitted estimator
        Any forest of this library.
    names : list of str
        Which columns, the most interesting first; no more than `MOST_COLUMNS` are looked at.

    Returns
    -------
    list of Shape
        Of two classes the second, of more the three whose probabilities move most, of numbers the prediction.
    """
    schema = model.schema_
    rows = _made_up(schema.features)
    return [_shape(model, rows, name) for name in names[:MOST_COLUMNS]]


def _places(feature: Feature) -> tuple[list[Any], list[str]]:
    """Return values of a column, from one end of the declared domain to the other, and their names."""
    if not isinstance(feature, Numeric):
        levels = feature.levels if isinstance(feature, Ordinal) else feature.categories
        known = list(levels)[:MOST_LEVELS]
        return known, [str(value) for value in known]
    cells = np.unique(np.linspace(0, feature.n_known - 2, POINTS).round().astype(int))
    borders = [feature.threshold_value(int(cell)) for cell in cells]
    if isinstance(feature, Date):
        return borders, [feature.border_text(int(cell)).partition("T")[0] for cell in cells]
    values = [feature.low, *borders[1:-1], feature.high]
    return values, [f"{value:.6g}" for value in values]


def _made_up(features: Any) -> list[list[Any]]:
    """Spread rows evenly: column j follows the multiples of an irrational number of its own."""
    rows = []
    places = [_places(feature)[0] for feature in features.values()]
    steps = np.sqrt(np.arange(2, 2 + 2 * len(places)) + 0.5)[: len(places)] % 1  # n + 1/2 is never a square
    for at in range(MADE_UP):
        shares = ((at + 0.5) * steps) % 1
        rows.append([known[int(share * len(known))] for known, share in zip(places, shares, strict=True)])
    return rows


def _shape(model: Any, rows: list[list[Any]], name: str) -> Shape:
    schema = model.schema_
    column, feature = schema.names.index(name), schema.features[name]
    values, points = _places(feature)
    asked = [[*row[:column], value, *row[column + 1 :]] for value in values for row in rows]
    if isinstance(schema.target, Classes):
        answers = model.predict_proba(asked).reshape(len(values), MADE_UP, -1).mean(axis=1)
        labels = [str(label) for label in model.classes_]
    else:
        answers = model.predict(asked).reshape(len(values), MADE_UP, 1).mean(axis=1)
        labels = ["prediction"]
    drawn = [Line(labels[at], tuple(map(float, answers[:, at]))) for at in _most_moving(answers)]
    return Shape(name, tuple(points), isinstance(feature, Numeric), tuple(drawn))


def _most_moving(answers: NDArray[np.float64]) -> list[int]:
    if answers.shape[1] <= 2:
        return [answers.shape[1] - 1]
    moves = np.ptp(answers, axis=0)
    return [int(at) for at in np.argsort(-moves, kind="stable")[:MOST_LINES]]
