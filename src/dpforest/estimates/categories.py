"""Categories that nobody declared: named where many rows hold them, or kept of a public list."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from dpforest._curator import Curator, Named
from dpforest.estimates.bounds import FALSE_ALARM
from dpforest.privacy import Kind, Query
from dpforest.schema import Classes, Nominal
from dpforest.schema.declaration import plain_number

WHOLE = Fraction(1)
MOST = 4096
"""Most categories that are kept of one column: those with the highest noisy counts."""
NOTHING_FOUND = "(nothing was found)"


class EstimatedCategories(NamedTuple):
    """What was found out about a column of categories.

    `counts` has the noisy rows of each category. `threshold` is the noisy count from which on a category was
    kept, and `noise_sd` the standard deviation of the noise in it: what fewer rows hold has become 'other'.
    """

    categories: tuple[Any, ...]
    counts: tuple[int, ...]
    threshold: float
    noise_sd: float


def find_names(curator: Curator, columns: list[int], delta: Fraction) -> list[EstimatedCategories]:
    """Name the values that many rows hold, with a loose delta."""
    if not columns:
        return []
    named = curator.common_values("names", WHOLE, Query(Kind.NAMES), columns, delta)
    return [_largest(named[column]) for column in columns]


def find_known(curator: Curator, lists: Mapping[int, Sequence[Any]]) -> list[EstimatedCategories]:
    """Keep the categories of public lists that surely occur: pure, since all of them are counted.

    Sure is what noise alone reaches in no category of any list but with probability `FALSE_ALARM`.
    """
    if not lists:
        return []
    groups = {column: np.append(np.arange(len(known)), [-1, -1]) for column, known in lists.items()}
    counts, sd = curator.group_counts("lists", WHOLE, Query(Kind.NAMES, "in public lists"), groups)
    chances = sum(len(known) for known in lists.values())
    threshold = np.log(chances / FALSE_ALARM) * max(sd, 0.5) / np.sqrt(2)
    found = []
    for line, known in zip(counts, lists.values(), strict=True):
        kept = [place for place in range(len(known)) if line[place] > threshold]
        said = tuple(int(line[place]) for place in kept)
        found.append(EstimatedCategories(tuple(known[place] for place in kept), said, float(threshold), sd))
    return found


def feature_of(found: EstimatedCategories) -> Nominal:
    """Return a feature with the categories that were found; one that no value has if there are none."""
    return Nominal(found.categories or (NOTHING_FOUND,))


def classes_of(found: EstimatedCategories) -> Classes:
    """Return the classes that were found, as numbers if all of them are written like numbers."""
    if not found.categories:
        raise ValueError(
            "No class was held by enough rows to be named: declare the target, or ask with more epsilon. "
            "What was charged stays charged."
        )
    numbers = [number for name in found.categories if (number := _number(name)) is not None]
    return Classes(numbers if len(numbers) == len(found.categories) else list(found.categories))


def _number(name: str) -> int | float | None:
    try:
        number = plain_number(float(name))
    except ValueError:
        return None
    return number if str(number) == name and math.isfinite(number) else None  # classes are finite numbers


def _largest(named: Named) -> EstimatedCategories:
    order = np.argsort(-np.array(named.counts, np.int64), kind="stable")[:MOST]
    kept = sorted(order.tolist())
    names, counts = (tuple(values[place] for place in kept) for values in (named.names, named.counts))
    return EstimatedCategories(names, counts, named.threshold, named.sd)
