"""One look at the private rows: what was run and what it cost. Made by `Ledger.charge`, never changed."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from numbers import Integral, Rational
from types import MappingProxyType
from typing import TypeAlias

Parameter: TypeAlias = "str | int | float | bool | tuple[Parameter, ...] | None"


@dataclass(frozen=True)
class Event:
    """A mechanism that was run on private rows.

    One event may stand for many answers if they look at disjoint rows, such as all nodes of one level in
    trees grown on separate rows; `parameters` then says so.

    Parameters
    ----------
    pool : str
        The pool of the plan that paid.
    mechanism : str
        What was run.
    purpose : str
        What for.
    cost : Fraction
        Epsilon or rho per row, in the plan's currency.
    rows : str
        The part of the table that was looked at.
    parameters : mapping
        Public details that JSON can hold. Fractions are stored as text and lists as tuples; arrays are
        refused, so that no private table can end up here by mistake.

    Examples
    --------
    >>> half = Fraction(1, 2)
    >>> look = Event("leaves", "discrete Laplace", "count labels", half, "all rows", {"rate": half})
    >>> look.parameters["rate"]
    '1/2'
    """

    pool: str
    mechanism: str
    purpose: str
    cost: Fraction
    rows: str
    parameters: Mapping[str, Parameter] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        frozen = {str(name): _plain(value, str(name)) for name, value in self.parameters.items()}
        object.__setattr__(self, "parameters", MappingProxyType(frozen))

    def __reduce__(self) -> tuple[Callable[..., Event], tuple[object, ...]]:
        # A mapping proxy does not pickle; a copy of what it shows does.
        return Event, (self.pool, self.mechanism, self.purpose, self.cost, self.rows, dict(self.parameters))


def _plain(value: object, name: str) -> Parameter:
    """Return a value that is immutable and that JSON can hold."""
    if value is None or isinstance(value, str | bool):
        return value
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, Rational):
        return str(value)
    if isinstance(value, float) and math.isfinite(value):
        return float(value)
    if isinstance(value, list | tuple):
        return tuple(_plain(item, name) for item in value)
    raise TypeError(
        f"parameter {name!r} of an event must be text, a finite number, None or a list of these, "
        f"got {type(value).__name__}: write it as text."
    )
