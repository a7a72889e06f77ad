"""How deep trees are to be: every rule in one place, each a formula of public or released quantities.

The exact number of rows would not do: where a rule jumps from one depth to the next, the depth alone would
tell two neighbouring tables apart. So whatever depends on rows takes a noisy count that was paid for, or a
number that is public.
"""

from __future__ import annotations

import math

import numpy as np

from dpforest.forests.foresight import room_for
from dpforest.forests.parameters import MAX_DEPTH
from dpforest.schema import Schema


def depth_by_evidence(rows_times_epsilon: float, per_leaf: float, low: int, high: int) -> int:
    """Depth at which an average leaf holds about `per_leaf` / epsilon rows.

    Examples
    --------
    >>> depth_by_evidence(30_000, 60, 2, 10)
    9
    """
    return min(max(round(math.log2(max(rows_times_epsilon, 1.0) / per_leaf)), low), high)


def even_depth_by_evidence(rows_times_epsilon: float, per_leaf: float, low: int, high: int) -> int:
    """Return the same for trees that have an even number of levels.

    Examples
    --------
    >>> even_depth_by_evidence(30_000, 60, 2, 10), even_depth_by_evidence(30_000, 60, 2, 7)
    (8, 6)
    """
    halves = round(math.log2(max(rows_times_epsilon, 1.0) / per_leaf) / 2)
    return 2 * min(max(halves, low // 2), high // 2)


def depth_by_occupancy(n_rows: float, n_trees: int, expected_leaf_rows: float) -> int:
    """Deepest complete trees whose leaves hold `expected_leaf_rows` rows on average.

    Consul and Williamson (2021), Section 4.

    Examples
    --------
    >>> depth_by_occupancy(27_000, n_trees=10, expected_leaf_rows=25)  # credit card default, Table 2
    6
    """
    return _deepest(n_rows / (n_trees * expected_leaf_rows))


def height_by_noise(n_rows: float, n_trees: int, epsilon: float) -> int:
    """Largest height at which an average leaf holds as many rows as its noise is wide, n_trees / epsilon.

    Shallower trees (2 to 16 times as many rows per leaf) predicted worse on banknote, wall_robot_4, magic,
    mushroom, pendigits and adult at epsilon 0.5 and 2.

    Examples
    --------
    >>> height_by_noise(30_000, n_trees=15, epsilon=1.0)
    10
    """
    return _deepest(n_rows * epsilon / n_trees)


def depth_by_halvings(schema: Schema, n_rows: float, n_trees: int, leaf_rows: float) -> int:
    """Deepest trees whose leaves hold `leaf_rows` rows, if categories are equally frequent.

    A median halves a node, which tells one bit about a row. One of m categories against the rest tells the
    entropy of 1 / m, so a path needs more such cuts for leaves of the same size. At epsilon 2 this gave 95.2
    instead of 92.8 % on mushroom, 81.9 instead of 81.2 on adult and 81.6 instead of 80.6 on nursery.

    Examples
    --------
    >>> from dpforest.schema import Nominal, Numeric
    >>> kinds = Numeric(0, 1), Nominal(list("pqrstuvw"))
    >>> [depth_by_halvings(Schema({"a": kind, "b": kind}), 6400, 10, 5) for kind in kinds]
    [7, 12]
    """
    m = np.maximum(np.where(schema.nominal, schema.n_cells - 2, 2), 2)  # categories, but missing and other
    bits = -(np.log2(1 / m) + (m - 1) * np.log2(1 - 1 / m)) / m
    halvings = math.log2(max(n_rows / (n_trees * leaf_rows), 1.0))
    return int(min(max(halvings / float(bits.mean()), 1), MAX_DEPTH))


def depth_that_tests_half(n_ordered: int, n_nominal: int = 0) -> int:
    """Depth at which a path has tested half of the features (Fletcher and Islam 2017, equation 16).

    An ordered feature can be tested again, so after d tests s ((s - 1) / s)**d of s are expected to be
    untested; the smallest d is taken at which that is below s / 2. A nominal feature is tested once: half
    of them are added.

    Examples
    --------
    >>> depth_that_tests_half(10), depth_that_tests_half(6, 8), depth_that_tests_half(0, 22)
    (7, 8, 11)
    """
    depth = 0
    while n_ordered and ((n_ordered - 1) / n_ordered) ** depth >= 0.5:
        depth += 1
    return depth + n_nominal // 2


def binary_depth(schema: Schema, paper_depth: int, n_trees: int) -> int:
    """Binary levels for paths of `paper_depth` drawn features, as many as the leaf table has room for."""
    levels = np.where(schema.nominal, np.ceil(np.log2(schema.n_cells)), 1).astype(int)
    ordered_again = [1] * paper_depth if not schema.nominal.all() else []  # ordered features may come back
    needed = sum(sorted([*levels.tolist(), *ordered_again], reverse=True)[:paper_depth])
    return int(min(needed, room_for(schema, n_trees)))


def _deepest(leaves: float) -> int:
    """Levels of splits that make no more than so many leaves; at least one."""
    return int(min(max(math.log2(max(leaves, 1.0)), 1), MAX_DEPTH))
