"""Public functions of single features, whose weights are fitted to the rows.

Every ordered feature has a line along its standard scale or, where there are rows enough, a line and a square
or a curve of straight pieces; every category has a weight of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from dpforest._arrays import FloatArray
from dpforest._curator import ONE, Block
from dpforest.schema import Schema

TWO_VALUES = 4  # cells of a feature with no more than two values: beside them, missing and other


def additive_blocks(
    schema: Schema,
    scales: dict[int, FloatArray],
    shape: str,
    n_knots: int,
    nominal: Sequence[int] | None = None,
) -> list[Block]:
    """Make functions of the features: a constant, lines or curves along scales, and categories.

    Parameters
    ----------
    schema : Schema
        What is public about the features.
    scales : dict of int to ndarray
        Values between -1 and 1 of every cell, of the ordered features.
    shape : {"line", "square", "curve"}
        What follows a scale.
    n_knots : int
        Of a curve.
    nominal : sequence of int, optional
        Features whose categories have weights; by default all that have no scale.
    """
    n_cells = schema.n_cells
    blocks = [Block(0, np.full((int(n_cells[0]), 1), ONE, np.int64))]
    for at in range(schema.n_features):
        if at not in scales:
            if nominal is None or at in nominal:
                blocks.append(Block(at, ONE * np.eye(int(n_cells[at]), dtype=np.int64)))
        elif shape == "curve" and n_cells[at] > TWO_VALUES:
            blocks.append(Block(at, _hats(scales[at], n_knots)))
        else:
            blocks.append(Block(at, np.trunc(ONE * scales[at]).astype(np.int64)[:, None]))
            if shape == "square" and n_cells[at] > TWO_VALUES:
                square = 1.5 * scales[at] ** 2 - 0.5
                square[-2:] = 0.0
                blocks.append(Block(at, np.trunc(ONE * square).astype(np.int64)[:, None]))
    return blocks


def scores_of(blocks: Iterable[Block], weights: FloatArray, shape: tuple[int, int]) -> FloatArray:
    """Add up what weights of blocks make of every cell, by (feature, cell, output)."""
    found = np.zeros((*shape, weights.shape[1]))
    first = 0
    for block in blocks:
        width = block.values.shape[1]
        found[block.feature, : len(block.values)] += block.values @ weights[first : first + width] / ONE
        first += width
    return found


def _hats(scale: FloatArray, n_knots: int) -> NDArray[np.int64]:
    """Write a place between -1 and 1 as shares of the two knots beside it; missing and unknown: none."""
    place = (scale[:-2] + 1) / 2 * (n_knots - 1)
    below = np.minimum(place.astype(np.int64), n_knots - 2)
    above = np.rint(ONE * (place - below)).astype(np.int64)
    found = np.zeros((len(scale), n_knots), np.int64)
    row = np.arange(len(place))
    found[row, below], found[row, below + 1] = ONE - above, above
    return found
