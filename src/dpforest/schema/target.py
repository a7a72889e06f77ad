"""The two kinds of target: a public list of classes, or a number in a public range.

Both turn a column of targets into integers record by record, and give -1 to whatever they cannot place.
Nothing is raised or warned about a label, since that would tell that the label occurs.

`schema` holds at most one target.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpforest.schema.columns import Part
from dpforest.schema.declaration import (
    MAX_SIZE,
    Declaration,
    Level,
    check_interval,
    finite_number,
    level_list,
    plain_number,
    short_list,
    whole_number,
)
from dpforest.schema.encoding import cells_of, numbers_of
from dpforest.schema.errors import SchemaError
from dpforest.schema.features import Nominal
from dpforest.schema.tables import read_vector

__all__ = ["DEFAULT_LEVELS", "Classes", "Range", "Target"]

DEFAULT_LEVELS = 4096


@dataclass(frozen=True, eq=False, repr=False)
class Classes(Declaration):
    """The public list of class labels.

    Parameters
    ----------
    labels : sequence of str, int, float or bool
        All labels a record may have, whether or not they occur. Kept sorted, as scikit-learn keeps
        `classes_`.

    Examples
    --------
    >>> outcome = Classes(["moved", "died", "home"])
    >>> outcome.labels
    ('died', 'home', 'moved')
    >>> outcome.encode(["home", "moved", None, "lost"])
    array([ 1,  2, -1, -1], dtype=int32)
    """

    labels: Sequence[Level]

    def __post_init__(self) -> None:
        labels = level_list("labels", self.labels)
        if len({_family(label) for label in labels}) > 1:
            raise SchemaError(
                "labels must be all text, all numbers or all booleans, so that they can be sorted."
            )
        object.__setattr__(self, "labels", tuple(sorted(labels)))
        _ = self._levels  # now: made when a label first needs it, a fitted model would tell that one did

    def __repr__(self) -> str:
        return f"Classes({short_list(self.labels)})"

    @property
    def n_classes(self) -> int:
        """Number of labels."""
        return len(self.labels)

    @cached_property
    def _levels(self) -> Nominal:
        return Nominal(self.labels)

    @property
    def n_codes(self) -> int:
        """How many codes `encode` may give a known label."""
        return len(self.labels)

    def encode(self, y: Any) -> NDArray[np.int32]:
        """Return the position of each label in `labels`, or -1 where it is missing or not declared.

        Parameters
        ----------
        y : array-like or series of shape (n,)
            Labels.

        Returns
        -------
        ndarray of int32
            Codes from -1 to `n_classes - 1`.
        """
        column = read_vector(y)
        return self.encode_part(column.read(0, len(column)))

    def encode_part(self, part: Part) -> NDArray[np.int32]:
        """Return the codes of some rows of a column; see `encode`."""
        codes: NDArray[np.int32] = cells_of(part, self._levels).astype(np.int32)
        codes[codes >= self.n_classes] = -1  # missing, or other
        return codes


def _family(label: Level) -> str:
    return "text" if isinstance(label, str) else "boolean" if isinstance(label, bool) else "number"


@dataclass(frozen=True, eq=False, repr=False)
class Range(Declaration):
    """A numeric target in a public range, held as fixed-point levels.

    Parameters
    ----------
    low, high : float
        Public bounds; targets beyond them are clipped.
    levels : int, default=4096
        Number of steps between the bounds: a target becomes a whole number from 0 to `levels`.

    Examples
    --------
    >>> score = Range(0, 10, levels=100)
    >>> score.encode([0, 2.5, 99, None])
    array([  0,  25, 100,  -1], dtype=int32)
    >>> score.decode([25, 100])
    array([ 2.5, 10. ])
    """

    low: float
    high: float
    levels: int = DEFAULT_LEVELS

    def __post_init__(self) -> None:
        set_field = object.__setattr__
        set_field(self, "low", finite_number("low", self.low))
        set_field(self, "high", finite_number("high", self.high))
        set_field(self, "levels", whole_number("levels", self.levels, 1, MAX_SIZE))
        check_interval(self.low, self.high)

    def __repr__(self) -> str:
        levels = f", levels={self.levels}" if self.levels != DEFAULT_LEVELS else ""
        return f"Range({plain_number(self.low)}, {plain_number(self.high)}{levels})"

    @property
    def n_codes(self) -> int:
        """How many codes `encode` may give a known target."""
        return self.levels + 1

    def encode(self, y: Any) -> NDArray[np.int32]:
        """Return the nearest level of each target, or -1 where it is missing or not a number.

        Parameters
        ----------
        y : array-like or series of shape (n,)
            Targets.

        Returns
        -------
        ndarray of int32
            Levels from 0 to `levels`, and -1.
        """
        column = read_vector(y)
        return self.encode_part(column.read(0, len(column)))

    def encode_part(self, part: Part) -> NDArray[np.int32]:
        """Return the levels of some rows of a column; see `encode`."""
        # Doubles first, whatever the caller's width: in single precision the two bounds of a narrow range far
        # from zero are wider apart than they are, and a level could leave the range.
        doubles, _ = numbers_of(part)
        missing = np.isnan(doubles)
        # Clipping comes before the difference, since that of two far-off doubles may overflow, and once more
        # at the end, as integers: noise is sized for levels from 0 to `levels`, whatever rounding did.
        clipped = np.clip(np.where(missing, self.low, doubles), self.low, self.high)
        rounded = np.rint((clipped - self.low) / (self.high - self.low) * self.levels).astype(np.int64)
        return np.where(missing, -1, np.clip(rounded, 0, self.levels)).astype(np.int32)

    def decode(self, level: ArrayLike) -> NDArray[np.float64]:
        """Return the targets that levels, whole or fractional, stand for."""
        # a part of the range, which may be as wide as doubles go: no multiple of it
        return self.low + (self.high - self.low) * (np.asarray(level, dtype=np.float64) / self.levels)


Target = Classes | Range
"""What a schema accepts as a target."""
