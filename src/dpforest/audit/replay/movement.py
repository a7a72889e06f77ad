"""How far a private table moved between two neighbours, in the steps for which its look was paid.

A step is what the curator's constants are for: a row added or removed, or a label changed. A table that moves
by s steps costs s times the charge (rho: s squared times), and one person may move it by as many steps as the
plan divided its budget by. The three functions below are the whole argument; compare them with sections 1, 2
and 7 of docs/explanation/privacy.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpforest._curator import EXPONENTIAL, PERMUTE_AND_FLIP, Look
from dpforest._curator.payment import (
    BLOCK_NORM,
    BOUNDED_RANGE,
    GAUSSIAN,
    NAMED,
    NESTED,
    NESTED_OR_RIVAL,
    PERTURBED,
    with_rivals,
)
from dpforest.mechanisms import named_range, nested_range

CHOICES = (EXPONENTIAL, PERMUTE_AND_FLIP)


@dataclass
class Movement:
    """What moved in all the tables of one look: the sum of its parts, and the sum of their squares.

    The parts are the entries of a table under Laplace and Gaussian noise, the vectors of a table under block
    noise (each counts as its block that moved most), and the nodes of a choice (each counts by its range:
    what its highest moving candidate moved minus what its lowest moving candidate did).
    """

    look: Look
    total: int = 0
    squares: int = 0

    def add(self, before: NDArray[Any], after: NDArray[Any], *public: NDArray[Any]) -> None:
        """Take in one table of the look; `public` holds the base weights of a choice."""
        change = after.astype(np.int64) - before.astype(np.int64)
        mechanism = self.look.event.mechanism
        if mechanism in CHOICES:
            parts = _ranges(change, public[0] if public else np.ones_like(change))
        elif mechanism == NESTED:
            parts = _nested_ranges(change, *public)
        elif mechanism == NESTED_OR_RIVAL:
            of_cuts, of_rivals = with_rivals(change, public[0])
            parts = _nested_ranges(of_cuts, public[0], of_rivals)
        elif mechanism == NAMED:
            parts = _named_ranges(change, public[1])
        elif mechanism in (BLOCK_NORM, PERTURBED):
            starts = np.cumsum([0, *self.look.blocks[:-1]])
            parts = np.add.reduceat(np.abs(change), starts, axis=1).max(axis=1)
        else:
            parts = np.abs(change)
        for part in parts[parts != 0].tolist():  # Python's own integers do not overflow
            self.total += part
            self.squares += part**2

    def steps(self, pure: bool) -> int:
        """Return the least number of declared steps that explains the movement."""
        look = self.look
        if look.event.mechanism == GAUSSIAN:
            return _ceil_sqrt(Fraction(self.squares, look.copies * look.moves))
        if pure:
            return math.ceil(Fraction(self.total, look.copies * look.moves))
        return _ceil_sqrt(Fraction(self.squares, look.copies * look.moves**2))


def price(look: Look, pure: bool) -> Fraction | float:
    """Return what one declared step costs at the strength that the mechanism was run at."""
    mechanism = look.event.mechanism
    if mechanism == GAUSSIAN:
        return math.inf if pure else look.copies * look.moves / (2 * look.strength)
    epsilon = look.strength * look.moves
    if pure:
        return look.copies * epsilon
    # the exponential mechanism has bounded range; any other epsilon-DP step costs epsilon**2 / 2
    return look.copies * epsilon**2 / (8 if mechanism in BOUNDED_RANGE else 2)


def _ranges(change: NDArray[np.int64], base: NDArray[np.int64]) -> NDArray[np.int64]:
    """Range of the movement over the candidates of every node; 0 where there are none."""
    candidate = np.broadcast_to(base > 0, change.shape)
    wide = np.iinfo(np.int64)
    highest = np.where(candidate, change, wide.min).max(axis=1, initial=wide.min)
    lowest = np.where(candidate, change, wide.max).min(axis=1, initial=wide.max)
    return np.where(candidate.any(axis=1), highest - lowest, 0)


def _nested_ranges(
    change: NDArray[np.int64], base: NDArray[np.int64], rivals: NDArray[np.int64] | None = None
) -> NDArray[np.int64]:
    """Range over all candidates (a, b, c) of every node: left(a, b) + right(a, c), and what rounding adds.

    For a given a the two sides are chosen apart, so the extremes of their sum are the sums of extremes.
    Rivals, if there are any, are candidates too.
    """
    candidate = np.broadcast_to((base > 0)[:, None, None, :], change.shape)
    wide = np.int64(2**60)  # far beyond any movement; two of them still fit
    highest = np.where(candidate, change, -wide).max(axis=3, initial=-wide).sum(axis=1)
    lowest = np.where(candidate, change, wide).min(axis=3, initial=wide).sum(axis=1)
    first, moved = base > 0, change.any(axis=(1, 2, 3))
    if rivals is not None:
        highest, lowest = (np.hstack([of_cuts, rivals]) for of_cuts in (highest, lowest))
        first, moved = np.hstack([first, np.ones_like(rivals, bool)]), moved | rivals.any(axis=1)
    found = np.where(first, highest, -wide).max(axis=1) - np.where(first, lowest, wide).min(axis=1)
    # a table that did not move cannot be rounded differently
    return np.where(first.any(axis=1) & moved, nested_range(found), 0)


def _named_ranges(change: NDArray[np.int64], first_group: NDArray[np.int64]) -> NDArray[np.int64]:
    """Range over all cuts and classes of the leaves of every node, from the rows by pairs of groups.

    Counts of the leaves of a cut in one column and one in another are sums over the groups of these two, each
    of which is in one leaf. So no candidate moves by more than all that moves in these two columns; that some
    may not move at all is allowed for. What the mechanism makes of the table, scores and counts of leaves, is
    not seen from here: tests of the curator compare it with plain counting.
    """
    moved = np.abs(change).sum(axis=3)
    by_columns = np.add.reduceat(np.add.reduceat(moved, first_group[:-1], axis=1), first_group[:-1], axis=2)
    found = by_columns.max(axis=(1, 2), initial=0)
    return np.where(found > 0, named_range(found), 0)


def _ceil_sqrt(square: Fraction) -> int:
    """Return the least whole number whose square is at least `square`."""
    whole = math.ceil(square)
    return math.isqrt(whole - 1) + 1 if whole else 0
