"""Columns made of two others: sums and differences of positions in the public ranges.

A tree that cuts such a column cuts across two features at once. The columns are public functions of a record,
so they cost nothing; which of them a model has is drawn with public coins. `Schema` holds and encodes them,
the default forest asks for them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpforest.schema.errors import SchemaError
from dpforest.schema.features import Feature

__all__ = ["Combination", "append_combinations", "check_combinations"]

_BINS = 256


@dataclass(frozen=True)
class Combination:
    """The sum or difference of two ordered features, each measured from 0 to 1 along its public range.

    The cells are 256 equal parts of the possible values, then missing (if either feature is missing or
    other), then other, which is never used.

    Parameters
    ----------
    first, second : str
        Names of the features.
    sign : {1, -1}
        1 adds the second, -1 subtracts it.

    Examples
    --------
    >>> Combination("age", "crp", -1).n_cells
    258
    """

    first: str
    second: str
    sign: int

    @property
    def n_cells(self) -> int:
        """Number of cells, with missing and other."""
        return _BINS + 2

    @property
    def name(self) -> str:
        """How the column is called in a written schema."""
        return f"{self.first} {'+' if self.sign > 0 else '-'} {self.second}"


def check_combinations(combinations: Sequence[Combination], features: dict[str, Feature]) -> None:
    """Refuse combinations of features that do not exist, are nominal or are the same."""
    for combination in combinations:
        names = (combination.first, combination.second)
        if names[0] == names[1] or combination.sign not in (1, -1):
            raise SchemaError(f"a combination needs two different features and a sign 1 or -1, got {names}.")
        for name in names:
            if name not in features or features[name].is_nominal:
                raise SchemaError(f"a combination needs ordered features of the schema, got {name!r}.")


def append_combinations(
    cells: NDArray[Any], features: dict[str, Feature], combinations: Sequence[Combination], out: NDArray[Any]
) -> None:
    """Fill in the cells of features and, behind them, one more column per combination.

    Parameters
    ----------
    cells : ndarray of shape (n, d)
        Encoded features.
    features : dict
        The features, in the order of the columns.
    combinations : sequence of Combination
        Columns to append.
    out : ndarray of shape (n, d + len(combinations))
        Where to.
    """
    from dpforest.schema import kernels

    index = {name: column for column, name in enumerate(features)}
    kernels.combine(
        cells,
        np.array([feature.n_known for feature in features.values()], np.int64),
        np.array([index[c.first] for c in combinations], np.int64),
        np.array([index[c.second] for c in combinations], np.int64),
        np.array([c.sign for c in combinations], np.int64),
        _BINS,
        out,
    )
