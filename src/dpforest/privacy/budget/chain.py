"""Is the record what was written? The check of a chain of hashes.

Every entry holds the hash of the one before, and the first that of its dataset, so a record in which an entry
was edited, removed, added, moved or copied does not link up any more. Two things a chain cannot know by
itself: that entries at its very end were removed, and that somebody recomputed every hash after an edit. Both
are found with a `Checkpoint` that was noted down earlier, elsewhere: the chain must still pass through it.

`Walk` goes along a chain link by link and keeps no entry, so that a long record needs no memory.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, NoReturn, TypeVar

from dpforest.privacy.budget.records import Dataset, Entry, Row, add_up, check_text
from dpforest.privacy.composition import Cost
from dpforest.privacy.errors import BudgetTamperedError

_AnyRow = TypeVar("_AnyRow", bound=Row)
# What a strange row makes the constructors raise.
_REFUSALS = (TypeError, ValueError, ArithmeticError, LookupError, RecursionError)


@dataclass(frozen=True)
class Checkpoint:
    """A place in a dataset's chain: how many entries it had, and the hash of the last of them.

    Parameters
    ----------
    count : int
        Number of entries.
    head : str
        Hash of the last entry, or of the dataset if there is none.

    Examples
    --------
    >>> noted = Checkpoint(2, 64 * "a")
    >>> Checkpoint.parse(str(noted)) == noted
    True
    """

    count: int
    head: str

    @classmethod
    def parse(cls, text: str) -> Checkpoint:
        """Read what `str` wrote.

        Parameters
        ----------
        text : str
            Count and hash, with a colon between them.
        """
        count, _, head = text.strip().partition(":")
        number = len(count) < 20 and count.isascii() and count.isdecimal()
        if not (number and len(head) == 64 and set(head) <= set("0123456789abcdef")):
            raise ValueError(
                f"a checkpoint is a number, a colon and 64 hexadecimal digits, got {text[:100]!r}."
            )
        return cls(int(count), head)

    def __str__(self) -> str:
        return f"{self.count}:{self.head}"


@dataclass(frozen=True)
class Receipt(Checkpoint):
    """The place of a charge, and in which budget: whoever has it can find out whether the charge is there.

    Parameters
    ----------
    count, head
        Number and hash of the charge's entry.
    dataset : str
        Name of the dataset that was charged.
    budget : str
        Hash of the dataset's row, which no other budget has.

    Examples
    --------
    >>> receipt = Receipt(2, 64 * "a", "patients", 64 * "b")
    >>> Receipt.from_dict(receipt.to_dict()) == receipt
    True
    """

    dataset: str
    budget: str

    def __str__(self) -> str:
        return super().__str__()

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-ready dictionary."""
        return {"dataset": self.dataset, "budget": self.budget, "number": self.count, "hash": self.head}

    @classmethod
    def from_dict(cls, document: Any) -> Receipt:
        """Read what `to_dict` wrote.

        Parameters
        ----------
        document : dict
            From a file that anyone may have written.
        """
        if not isinstance(document, dict) or set(document) != {"dataset", "budget", "number", "hash"}:
            raise ValueError("a receipt holds dataset, budget, number and hash, and nothing else.")
        check_text(document["dataset"], "dataset")
        if type(document["number"]) is not int or document["number"] < 1:
            raise ValueError("the number of a receipt must be a whole number of at least 1.")
        for digits in (document["hash"], document["budget"]):
            Checkpoint.parse(f"{document['number']}:{digits}")
        return cls(document["number"], document["hash"], document["dataset"], document["budget"])


@dataclass(frozen=True)
class Repair:
    """A stretch of a record that is broken and that its owner has vouched for.

    Parameters
    ----------
    first : int
        Number of the first broken entry.
    entry : Entry
        The entry that repairs it and all others before itself.
    sha256 : str
        Of the broken rows as they were found.
    """

    first: int
    entry: Entry
    sha256: str

    @classmethod
    def read(cls, entry: Entry) -> Repair:
        """Read what an entry repairs.

        Parameters
        ----------
        entry : Entry
            Of state ``"repaired"``.
        """
        document = json.loads(entry.plan or "")
        return cls(int(document["first"]), entry, str(document["sha256"]))


class Walk:
    """Goes along a chain and raises where it does not link up.

    Parameters
    ----------
    dataset : Dataset
        The first link, already checked.
    repairs : sequence of Repair
        Stretches that are known to be broken.
    """

    def __init__(self, dataset: Dataset, repairs: Sequence[Repair] = ()) -> None:
        self.dataset = dataset
        self.end = Checkpoint(0, dataset.hash)
        self.total = Cost.pure(0)
        self.promised = (dataset.relation, dataset.max_rows_per_person)
        self._reserved: set[int] | None = set()
        self._repairs = {repair.first: repair for repair in repairs}
        self._broken: tuple[Repair, Any] | None = None

    @classmethod
    def begin_at(cls, dataset: Dataset, row: Sequence[Any]) -> Walk:
        """Return a walk that takes everything up to a row for granted.

        Parameters
        ----------
        dataset : Dataset
            Whose chain.
        row : sequence
            The columns of the entry, then its hash.
        """
        walk, entry = cls(dataset), read_link(Entry, row)
        walk.end, walk.total = Checkpoint(entry.number, entry.hash), _total(entry)
        walk.promised, walk._reserved = (entry.relation, entry.max_rows_per_person), None
        return walk

    def step(self, row: Sequence[Any]) -> Entry | None:
        """Go on to the next row.

        Parameters
        ----------
        row : sequence
            The columns of an entry, then its hash.

        Returns
        -------
        Entry or None
            None if it is one of those that a repair replaced.
        """
        try:
            if self._broken is None and self.end.count + 1 in self._repairs:
                self._broken = self._repairs[self.end.count + 1], sha256()
            if self._broken is None:
                return self._follow(read_link(Entry, row))
            return self._step_over(row, *self._broken)
        except _REFUSALS as problem:  # not the text of a number, for example
            accuse(self.dataset.name, f"a value cannot be read ({type(problem).__name__})")

    def finish(self) -> Checkpoint:
        """Return where the chain ends, if what was charged keeps the ceiling."""
        if self._broken is not None:
            accuse(self.dataset.name, "its repair is gone")
        if not self.dataset.rule.grants(self.total):
            accuse(self.dataset.name, "more was charged than its ceiling")
        return self.end

    def _follow(self, entry: Entry) -> Entry:
        """Check a link, then what no writer of ours would have written, whatever its hashes."""
        name, number = self.dataset.name, self.end.count + 1
        if (entry.dataset, entry.number, entry.previous) != (name, number, self.end.head):
            accuse(name, f"entry {number} does not follow the one before it")
        total = add_up(self.total, entry.cost)
        if self.promised[0] is None:
            self.promised = (entry.relation, entry.max_rows_per_person)
        if entry.total != total or (entry.relation, entry.max_rows_per_person) != self.promised:
            accuse(name, f"entry {number} does not carry on the totals before it")
        if entry.settles is None:
            if entry.state not in ("reserved", "spent"):
                accuse(name, f"entry {number} fails nothing")
            if entry.state == "reserved" and self._reserved is not None:
                self._reserved.add(number)
        elif entry.state not in ("spent", "failed") or entry.cost != Cost.pure(0):
            accuse(name, f"entry {number} settles what is not reserved")
        elif self._reserved is not None:
            if entry.settles not in self._reserved:
                accuse(name, f"entry {number} settles what is not reserved")
            self._reserved.remove(entry.settles)
        self.end, self.total = Checkpoint(number, entry.hash), total
        return entry

    def _step_over(self, row: Sequence[Any], repair: Repair, digest: Any) -> Entry | None:
        """Count a broken row, or arrive at the entry that repairs it."""
        if row[1] != repair.entry.number:
            digest.update(_raw(row))
            return None
        entry, name = read_link(Entry, row), self.dataset.name
        if digest.hexdigest() != repair.sha256 or entry.previous != self.end.head:
            accuse(name, f"what entry {entry.number} repaired was changed again")
        if entry.total != add_up(self.total, entry.cost):
            accuse(name, f"entry {entry.number} does not carry on the totals before it")
        self.end, self.total, self._broken = Checkpoint(entry.number, entry.hash), entry.total, None
        self.promised = (entry.relation, entry.max_rows_per_person)
        self._reserved = None  # some may have been lost: who settles what is not known any more
        return entry


def walk_along(walk: Walk, rows: Iterable[Sequence[Any]]) -> Iterator[Entry]:
    """Yield the entries of a chain, checked.

    Parameters
    ----------
    walk : Walk
        Where to begin.
    rows : iterable of sequences
        The columns of each entry, then its hash, in the order of their numbers.
    """
    for row in rows:
        entry = walk.step(row)
        if entry is not None:
            yield entry


def read_link(kind: type[_AnyRow], row: Sequence[Any]) -> _AnyRow:
    """Read one row of a table and check it against its own hash.

    Parameters
    ----------
    kind : type
        `Dataset` or `Entry`.
    row : sequence
        Its columns, then its hash.
    """
    try:
        link = kind.from_values(row[:-1])
        if link.hash == row[-1]:
            return link
    except (TypeError, ValueError):  # bytes where text was written, or another number of columns
        pass
    place = f"entry {row[1]!r}" if kind is Entry else "the row of the dataset"
    accuse(row[0], f"{place} does not match its hash")


def read_repairs(rows: Iterable[Sequence[Any]]) -> list[Repair]:
    """Read the repairs of a record; what only looks like one is left for the walk to find.

    Parameters
    ----------
    rows : iterable of sequences
        Entries of state ``"repaired"``, in the order of their numbers.
    """
    found = []
    for row in rows:
        with suppress(BudgetTamperedError, *_REFUSALS):
            found.append(Repair.read(read_link(Entry, row)))
    return found


def digest_of(rows: Iterable[Sequence[Any]]) -> str:
    """Return the SHA-256 of rows as they are, whatever is in them."""
    digest = sha256()
    for row in rows:
        digest.update(_raw(row))
    return digest.hexdigest()


def _raw(row: Sequence[Any]) -> bytes:
    return f"{tuple(row)!r}\n".encode("utf-8", "backslashreplace")


def _total(entry: Entry) -> Cost:
    try:
        return entry.total
    except _REFUSALS as problem:
        accuse(entry.dataset, f"a value cannot be read ({type(problem).__name__})")


def accuse(dataset: Any, what: str) -> NoReturn:
    """Refuse a record that is not what was written."""
    raise BudgetTamperedError(
        f"the budget record of {dataset!r} was changed after it was written: {what}, so nothing is granted. "
        "Restore the record from before the change; do not start a new one."
    )
