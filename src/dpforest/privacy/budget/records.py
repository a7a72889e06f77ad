"""What a store keeps, row by row, and how each row is hashed.

A `Dataset` is the first link of a chain; every `Entry` after it holds the hash of the one before. Entries are
never changed: a reservation is one entry, its settlement another. `chain` reads a list of entries back and
tells whether it is what was written; `store` decides what is appended; `spends` has what goes in and what
people see.
"""

from __future__ import annotations

import getpass
import json
import math
import platform
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from fractions import Fraction
from hashlib import sha256
from typing import Any, Literal, Protocol, Self, TypeAlias

from dpforest.privacy.budget.filter import BudgetFilter
from dpforest.privacy.composition import Cost
from dpforest.privacy.exact import read_fraction
from dpforest.privacy.relation import NeighboringRelation

State: TypeAlias = Literal["reserved", "spent", "failed", "repaired"]
LONGEST_TEXT = 200
# One request may not be longer than this, and a total that became longer is rounded up: no charge, however
# odd, can make the record too long for the charges after it.
MOST_BITS = 512
MOST_BITS_OF_TOTAL = 2_048
GRID_BITS = 1_024
_TOO_LONG = "an amount has more than 150 digits: ask for amounts with few, such as 0.1."


@dataclass(frozen=True)
class Row:
    """A row of a table of the store: fields in the order of the columns, then its hash."""

    def values(self) -> tuple[Any, ...]:
        """Return the columns, without the hash."""
        return tuple(getattr(self, field.name) for field in fields(self))

    @property
    def hash(self) -> str:
        """SHA-256 of the columns, each with its length before it; so simple that a server can check it."""
        return sha256(b",".join(map(_length_and_text, self.values()))).hexdigest()

    @classmethod
    def from_values(cls, values: Sequence[Any]) -> Self:
        """Make a row from the columns of a table; types are not trusted, the hash decides."""
        return cls(**dict(zip((field.name for field in fields(cls)), values, strict=True)))


@dataclass(frozen=True)
class Dataset(Row):
    """A dataset with its ceiling, as the store keeps it: numbers are exact text such as ``"1/10"``.

    Parameters
    ----------
    name : str
        What the owner calls it.
    schema_hash : str or None
        `schema_hash` of its public description, if the owner gave one.
    epsilon, delta : str
        The ceiling, per person.
    rho : str or None
        What the ceiling allows in zCDP; None if nothing.
    loose : str
        The part of delta that is set aside for loose deltas.
    relation, max_rows_per_person : optional
        Whom the ceiling protects; None leaves it to the first charge.
    who, created : str
        Who made it, and when (UTC).
    token : str
        Random, so that no two datasets have the same hash.
    """

    name: str
    schema_hash: str | None
    epsilon: str
    delta: str
    rho: str | None
    loose: str
    relation: str | None
    max_rows_per_person: int | None
    who: str
    created: str
    token: str

    @property
    def rule(self) -> BudgetFilter:
        """The rule that keeps its ceiling."""
        return BudgetFilter(
            read_fraction(self.epsilon, "epsilon"),
            read_fraction(self.delta, "delta"),
            None if self.rho is None else read_fraction(self.rho, "rho"),
            read_fraction(self.loose, "loose"),
        )

    @classmethod
    def new(
        cls,
        name: str,
        rule: BudgetFilter,
        relation: NeighboringRelation | None = None,
        max_rows_per_person: int | None = None,
        schema: Described | Mapping[str, Any] | None = None,
    ) -> Dataset:
        """Describe a dataset that has no budget yet.

        Parameters
        ----------
        name, relation, max_rows_per_person
            As above.
        rule : BudgetFilter
            Keeps its ceiling.
        schema : Schema, mapping or None
            Only its hash is kept.
        """
        check_text(name, "dataset")
        if not name:
            raise ValueError("dataset must be a name, got an empty text.")
        return cls(
            name,
            None if schema is None else schema_hash(schema),
            exact_text(rule.epsilon),
            exact_text(rule.delta),
            None if rule.rho is None else exact_text(rule.rho),
            exact_text(rule.loose),
            None if relation is None else relation.value,
            max_rows_per_person,
            whoami(),
            now(),
            secrets.token_hex(16),
        )


@dataclass(frozen=True)
class Entry(Row):
    """One link of a dataset's chain: a charge, or the settlement of an earlier one.

    Parameters
    ----------
    dataset : str
        Its name.
    number : int
        1, 2, 3, ... within the dataset.
    state : {"reserved", "spent", "failed", "repaired"}
        What this entry says.
    settles : int or None
        Number of the reservation that it settles; None for a charge.
    name : str or None
        What the caller calls the charge; no two of a dataset have the same.
    analyst, purpose : str
        Who asked and what for, in the caller's words.
    who, at : str
        Which login wrote it, and when (UTC).
    label : str
        The caller's note.
    relation, max_rows_per_person
        Which neighbours the costs are stated for.
    epsilon, rho, delta : str
        Cost, per person; zero in settlements. `epsilon` is None if no pure epsilon is promised.
    total_epsilon, total_rho, total_delta : str
        Cost of this and all earlier entries.
    plan, queries : str or None
        JSON: how the charge is divided (of a charge; of a repair, what was repaired), every query that was
        made (of a settlement).
    previous : str
        Hash of the link before.
    """

    dataset: str
    number: int
    state: State
    settles: int | None
    name: str | None
    analyst: str
    purpose: str
    who: str
    at: str
    label: str
    relation: str
    max_rows_per_person: int
    epsilon: str | None
    rho: str
    delta: str
    total_epsilon: str | None
    total_rho: str
    total_delta: str
    plan: str | None
    queries: str | None
    previous: str

    @property
    def cost(self) -> Cost:
        """What this entry adds."""
        return _read_cost(self.epsilon, self.rho, self.delta)

    @property
    def total(self) -> Cost:
        """What all entries up to this one add up to."""
        return _read_cost(self.total_epsilon, self.total_rho, self.total_delta)


class Described(Protocol):
    """Something public that tells itself as a dictionary, such as a `Schema`."""

    def to_dict(self) -> Mapping[str, Any]:
        """Return a JSON-ready dictionary."""


def schema_hash(schema: Described | Mapping[str, Any]) -> str:
    """Return the SHA-256 of a schema's dictionary; the order of its columns does not matter.

    Parameters
    ----------
    schema : Schema or mapping
        The schema, or its dictionary form.

    Examples
    --------
    >>> schema_hash({"age": {"min": 18}, "crp": {"min": 0}}) == schema_hash(
    ...     {"crp": {"min": 0}, "age": {"min": 18}}
    ... )
    True
    """
    document = schema if isinstance(schema, Mapping) else schema.to_dict()
    return sha256(json.dumps(document, sort_keys=True, separators=(",", ":")).encode("ascii")).hexdigest()


def exact_text(value: Fraction) -> str:
    """Write a fraction exactly, or refuse one that is absurdly long.

    Examples
    --------
    >>> exact_text(Fraction(1, 10))
    '1/10'
    """
    if max(value.numerator.bit_length(), value.denominator.bit_length()) > MOST_BITS:
        raise ValueError(_TOO_LONG)
    return str(value)


def check_amount(cost: Cost) -> None:
    """Refuse a cost that is absurdly long, before anything is charged."""
    for value, bits in ((cost.epsilon, MOST_BITS), (cost.rho, 2 * MOST_BITS + 2), (cost.delta, MOST_BITS)):
        if value is not None and max(value.numerator.bit_length(), value.denominator.bit_length()) > bits:
            raise ValueError(_TOO_LONG)


def add_up(total: Cost, cost: Cost) -> Cost:
    """Add a cost to a total: exactly, until the exact total gets too long, then rounded up.

    A total of pure costs keeps rho <= epsilon^2 / 2 under rounding. One cost is never rounded (its rho has
    twice the bits of its epsilon, and half of what is allowed). Several leave epsilon^2 / 2 - rho, the sum
    of the products of all pairs, at least 2^-1024 for each pair, and each rounding adds less than that.

    Examples
    --------
    >>> add_up(Cost.pure(Fraction(1, 3)), Cost.pure(Fraction(1, 6))).epsilon
    Fraction(1, 2)
    """
    both = total + cost
    pure = None if both.epsilon is None else _shortened(both.epsilon)
    return Cost(pure, _shortened(both.rho), _shortened(both.delta))


def _shortened(value: Fraction) -> Fraction:
    if value.denominator.bit_length() <= MOST_BITS_OF_TOTAL:
        return value
    return Fraction(math.ceil(value * 2**GRID_BITS), 2**GRID_BITS)


def cost_text(cost: Cost, prefix: str = "") -> dict[str, Any]:
    """Write a cost as exact text, for the columns epsilon, rho and delta of an entry, or of its totals."""
    return {
        f"{prefix}epsilon": None if cost.epsilon is None else str(cost.epsilon),
        f"{prefix}rho": str(cost.rho),
        f"{prefix}delta": str(cost.delta),
    }


def check_text(value: str, name: str) -> None:
    """Refuse text that some database, or a terminal, would not give back as it was."""
    if not isinstance(value, str):
        raise TypeError(f"{name} must be text, got {type(value).__name__}.")
    if len(value) > LONGEST_TEXT or not value.isprintable():
        raise ValueError(f"{name} must be at most {LONGEST_TEXT} printable characters on one line.")


def now() -> str:
    """Return the time, UTC, as text."""
    return datetime.now(UTC).isoformat(timespec="microseconds")


def whoami() -> str:
    """Return user and machine, as the operating system tells them: a note, not a proof."""
    try:
        user = getpass.getuser()
    except (ImportError, KeyError, OSError):  # a container may run under a number without a name
        user = "unknown"
    return at_machine(user)


def at_machine(user: str) -> str:
    """Return a user with the name of this machine."""
    shown = f"{user}@{platform.node() or 'unknown'}"[:LONGEST_TEXT]
    return "".join(letter if letter.isprintable() else "?" for letter in shown)


def _length_and_text(value: Any) -> bytes:
    if value is None:
        return b"-"
    text = str(value).encode("utf-8", "surrogatepass")
    return b"%d:%s" % (len(text), text)


def _read_cost(epsilon: str | None, rho: str, delta: str) -> Cost:
    pure = None if epsilon is None else read_fraction(epsilon, "epsilon")
    return Cost(pure, read_fraction(rho, "rho"), read_fraction(delta, "delta"))


def fields_of(kind: type[Row]) -> list[str]:
    """Return the columns of a table, without the hash."""
    return [field.name for field in fields(kind)]
