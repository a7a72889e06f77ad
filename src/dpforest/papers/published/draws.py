"""Random choices of the papers, in floating-point arithmetic and from a numpy generator.

Both alone would void any guarantee: the bits of a double tell where it came from, and numpy's generators are
not secure. The exact choices of the library live in `dpforest.mechanisms`.
"""

import numpy as np
from numpy.typing import NDArray

from dpforest._arrays import FloatArray

__all__ = ["between", "equal_parts", "exponential_choice", "permute_and_flip", "probabilities"]


def probabilities(exponents: FloatArray) -> FloatArray:
    """Return probabilities proportional to the exponentials of the last axis; -inf has none.

    Examples
    --------
    >>> probabilities(np.log([1.0, 3.0]))
    array([0.25, 0.75])
    """
    weights = np.exp(exponents - exponents.max(axis=-1, keepdims=True))
    return np.asarray(weights / weights.sum(axis=-1, keepdims=True))


def exponential_choice(exponents: FloatArray, rng: np.random.Generator) -> int:
    """Exponential mechanism: draw an index with probability proportional to `exp(exponent)`.

    Examples
    --------
    >>> exponential_choice(np.array([-np.inf, 0.0]), np.random.default_rng(0))
    1
    """
    cumulative = np.exp(exponents - exponents.max()).cumsum()
    return int(cumulative.searchsorted(rng.random() * cumulative[-1], side="right"))


def permute_and_flip(exponents: FloatArray, rng: np.random.Generator) -> int:
    """Permute-and-flip: in random order, take the first whose coin shows heads.

    The bias of a coin is `exp(exponent - largest exponent)`.

    Examples
    --------
    >>> permute_and_flip(np.array([0.0, -1000.0]), np.random.default_rng(0))
    0
    """
    order = rng.permutation(len(exponents))
    heads = rng.random(len(exponents)) < np.exp(exponents - exponents.max())[order]
    return int(order[heads.argmax()])


def between(low: float, high: float, rng: np.random.Generator) -> float:
    """Draw a double between two end points, both of which its bits betray."""
    return low + (high - low) * float(rng.random())


def equal_parts(n_rows: int, n_parts: int, rng: np.random.Generator) -> list[NDArray[np.int64]]:
    """Shuffle the rows and cut them into parts whose sizes differ by at most one.

    The sizes are a function of the number of rows: a new row enters one part and pushes another row into the
    part that grows. Two parts, three changes of one row each, so the claimed loss is tripled.

    Examples
    --------
    >>> sorted(len(part) for part in equal_parts(11, 3, np.random.default_rng(0)))
    [3, 4, 4]
    """
    return np.array_split(rng.permutation(n_rows), n_parts)
