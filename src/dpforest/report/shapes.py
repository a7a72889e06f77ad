"""What the values of each column add to the answer of a model: exact for what was released, and free."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpforest._trees.explaining import outputs_of
from dpforest._trees.shapes import shape_of
from dpforest.schema import Date, Feature, Numeric, Ordinal

POINTS = 48  # of a numeric column
MOST_LEVELS = 12  # of a list of categories
MOST_COLUMNS = 12
MOST_LINES = 3  # of several classes those that move most


class Line(NamedTuple):
    """What is added to one output at every point, and where the value is missing."""

    about: str
    values: tuple[float, ...]
    missing: float


class Shape(NamedTuple):
    """The shape of a column: its points, whether they are numbers on a line, and what they add."""

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
        In the units of `explain`.
    """
    return [_shape(model, name) for name in names[:MOST_COLUMNS]]


def _shape(model: Any, name: str) -> Shape:
    feature = model.schema_.features[name]
    added, about = shape_of(model, model.schema_.names.index(name)), outputs_of(model)[0]
    cells, points = _places(feature)
    lines = [
        Line(about[at], tuple(map(float, added[cells, at])), float(added[feature.missing_cell, at]))
        for at in _most_moving(added[cells])
    ]
    return Shape(name, tuple(points), isinstance(feature, Numeric), tuple(lines))


def _places(feature: Feature) -> tuple[NDArray[np.int64], list[str]]:
    """Return cells of a column, from one end of what was declared to the other, and their names."""
    if not isinstance(feature, Numeric):
        levels = feature.levels if isinstance(feature, Ordinal) else feature.categories
        return np.arange(min(len(levels), MOST_LEVELS)), [str(level) for level in levels[:MOST_LEVELS]]
    cells = np.unique(np.linspace(0, feature.n_known - 1, POINTS).round().astype(np.int64))
    if isinstance(feature, Date):  # a cell ends at its border; the last has none
        borders = [feature.border_text(int(cell)).partition("T")[0] for cell in cells[:-1]]
        return cells, [*borders, borders[-1]]
    borders = [f"{feature.threshold_value(int(cell)):.6g}" for cell in cells[:-1]]
    return cells, [f"{feature.low:.6g}", *borders[1:], f"{feature.high:.6g}"]


def _most_moving(added: NDArray[np.float64]) -> list[int]:
    return [int(at) for at in np.argsort(-np.ptp(added, axis=0), kind="stable")[:MOST_LINES]]
