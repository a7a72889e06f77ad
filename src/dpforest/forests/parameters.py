"""Rules for constructor parameters, as data; checked in `fit` and `privacy_plan`, before any row is read."""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, TypeVar, dataclass_transform

from dpforest.forests.decisions import is_class_weight

MAX_DEPTH = 15  # complete trees: 2**15 leaves each
ANY_DEPTH = 64  # trees that exist only where rows are
MAX_TABLE_ENTRIES = 2**25  # of any table, such as the leaves of all trees times classes: 256 MiB
MAX_THREADS = 256  # each has tables of its own

Rule = tuple[str, Callable[[Any], bool]]
T = TypeVar("T")


@dataclass_transform(kw_only_default=True, eq_default=False)
def parameters(cls: type[T]) -> type[T]:
    """Turn annotated class attributes into constructor parameters, as scikit-learn wants them.

    A dataclass constructor stores its arguments and does nothing else; subclasses inherit the shared ones
    instead of writing them again. Equality and repr stay scikit-learn's.
    """
    return dataclass(kw_only=True, eq=False, repr=False)(cls)


def whole(low: int, high: int | None = None, or_none: bool = False) -> Rule:
    """Accept whole numbers from `low` to `high`."""
    text = f"a whole number, {low} or more" if high is None else f"a whole number from {low} to {high}"

    def accept(value: Any) -> bool:
        if value is None:
            return or_none
        if isinstance(value, bool) or not isinstance(value, numbers.Integral):
            return False
        return low <= int(value) and (high is None or int(value) <= high)

    return text + (" or None" if or_none else ""), accept


def real(low: float, high: float, closed: str = "neither") -> Rule:
    """Accept real numbers between `low` and `high`; `closed` names the ends that belong to it."""
    left, right = closed in ("left", "both"), closed in ("right", "both")
    text = f"a number in {'[' if left else '('}{low:g}, {high:g}{']' if right else ')'}"

    def accept(value: Any) -> bool:
        if isinstance(value, bool) or not isinstance(value, numbers.Real | Decimal):
            return False
        try:
            number = float(value)
        except (OverflowError, ValueError):  # beyond the doubles; a Decimal that signals
            return False
        return low < number < high or (left and number == low) or (right and number == high)

    return text, accept


def choice(*options: Any) -> Rule:
    """Accept one of a few values."""
    return "one of " + ", ".join(map(repr, options)), lambda value: any(
        value is o or value == o for o in options
    )


COMMON_RULES: dict[str, Rule] = {
    "n_estimators": whole(1, 65536),
    "epsilon": real(0, math.inf, closed="right"),
    "delta": (
        "a number in [0, 1), chosen without looking at the rows ('auto' would have to count them)",
        real(0, 1, closed="left")[1],
    ),
    "max_depth": whole(0, MAX_DEPTH, or_none=True),
    "class_weight": (
        "a dictionary from labels to numbers from 1e-9 to 1e9, 'balanced' or None",
        is_class_weight,
    ),
    "threshold": ("a number in (0, 1) or None", lambda value: value is None or real(0, 1)[1](value)),
    "on_leak": choice("raise", "warn"),
    "as_published": choice(True, False),
    "neighboring": choice("add_or_remove_one", "replace_one"),
    "max_rows_per_person": whole(1),
    "n_jobs": whole(-65536, or_none=True),
    "verbose": whole(0),
}


def check_parameters(estimator: Any, rules: dict[str, Rule]) -> None:
    """Raise a ValueError that names the parameter, what was given and what is expected."""
    given = estimator.get_params(deep=False)
    for name, (expected, accept) in rules.items():
        if name in given and not accept(given[name]):
            raise ValueError(
                f"{type(estimator).__name__}: {name}={given[name]!r} is not valid; expected {expected}."
            )
