"""Grids whose cells are equally wide after a public transform, for columns with heavy tails.

Borders are part of a model: they must be the same doubles on every machine, and mathematical libraries differ
in the last bit of a logarithm. So they are worked out as decimals of many digits and rounded once.
"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Context, Decimal, localcontext

import numpy as np
from numpy.typing import NDArray

from dpforest.schema.errors import SchemaError

__all__ = ["TRANSFORMS", "even_after"]

TRANSFORMS = ("log", "asinh")
_DIGITS = 60  # 65536 products lose at most six of them
_TINY = Decimal(10) ** -40  # on a grid around zero, zero is a border


def even_after(transform: str, low: float, high: float, bins: int) -> NDArray[np.float64]:
    """Return the inner borders of cells that are equally wide after a transform.

    Parameters
    ----------
    transform : {"log", "asinh"}
        The logarithm, for positive numbers; or the inverse hyperbolic sine, which is close to x near zero and
        to the logarithm of 2 abs(x), with the sign of x, far from it.
    low, high : float
        Ends of the grid.
    bins : int
        Number of cells.

    Examples
    --------
    >>> even_after("log", 1.0, 10_000.0, 4)
    array([  10.,  100., 1000.])
    >>> even_after("asinh", -100.0, 100.0, 4).round(3)
    array([-7.036,  0.   ,  7.036])
    """
    if transform == "log" and low <= 0:
        raise SchemaError('transform="log" needs a low above 0: use "asinh" for zeros and negative numbers.')
    with localcontext(Context(prec=_DIGITS, Emax=10**6, Emin=-(10**6))):
        start, end = (_grown(transform, Decimal(number)) for number in (low, high))
        step = ((end / start).ln() / bins).exp()
        borders = np.array([float(number) for number in _steps(transform, start, step, bins)])
    if not (np.diff(np.concatenate([[low], borders, [high]])) > 0).all():
        raise SchemaError(
            f"{bins} bins between {low!r} and {high!r} are finer than doubles can tell apart. Use fewer bins."
        )
    return borders


def _steps(transform: str, start: Decimal, step: Decimal, bins: int) -> Iterator[Decimal]:
    grown = start
    for _ in range(1, bins):
        grown *= step
        number = grown if transform == "log" else (grown - 1 / grown) / 2
        yield Decimal(0) if abs(number) < _TINY and transform == "asinh" else number


def _grown(transform: str, number: Decimal) -> Decimal:
    """Return e to the transformed number."""
    if transform == "log":
        return number
    root = (number * number + 1).sqrt()
    return number + root if number >= 0 else 1 / (root - number)
