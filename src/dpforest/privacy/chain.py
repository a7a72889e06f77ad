"""Is the record what was written? The check of a chain of hashes.

Every entry holds the hash of the one before, and the first that of its dataset, so a record in which an entry
was edited, removed, added, moved or copied does not link up any more. Two things a chain cannot know by
itself: that entries at its very end were removed, and that somebody recomputed every hash after an edit. Both
are found with a `Checkpoint` that was noted down earlier, elsewhere: the chain must still pass through it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn, TypeVar

from dpforest.privacy.composition import Cost
from dpforest.privacy.errors import BudgetTamperedError
from dpforest.privacy.records import Dataset, Entry, Row
from dpforest.privacy.spends import Spend

_AnyRow = TypeVar("_AnyRow", bound=Row)


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
        if not (count.isdecimal() and len(head) == 64 and set(head) <= set("0123456789abcdef")):
            raise ValueError(
                f"a checkpoint is a number, a colon and 64 hexadecimal digits, got {text[:100]!r}."
            )
        return cls(int(count), head)

    def __str__(self) -> str:
        return f"{self.count}:{self.head}"


@dataclass(frozen=True)
class Chain:
    """A dataset and all its entries, known to link up.

    Parameters
    ----------
    dataset : Dataset
        The first link.
    entries : tuple of Entry
        All others, oldest first.
    """

    dataset: Dataset
    entries: tuple[Entry, ...]

    @classmethod
    def read(cls, dataset: Dataset, rows: Iterable[Sequence[Any]]) -> Chain:
        """Check the rows of a dataset, in the order of their numbers.

        Parameters
        ----------
        dataset : Dataset
            Already checked.
        rows : iterable of sequences
            The columns of each entry, then its hash.

        Raises
        ------
        BudgetTamperedError
            If they are not what was written.
        """
        chain = cls(dataset, tuple(read_link(Entry, row) for row in rows))
        try:
            chain._check()
        except (TypeError, ValueError, ArithmeticError) as problem:  # not the text of a number, for example
            _accuse(dataset.name, f"a value cannot be read ({problem})")
        return chain

    def checkpoint(self) -> Checkpoint:
        """Return the end of the chain."""
        return Checkpoint(len(self.entries), (self.dataset, *self.entries)[-1].hash)

    def require(self, noted: Checkpoint | str) -> None:
        """Raise unless the chain passes through a checkpoint.

        Parameters
        ----------
        noted : Checkpoint or str
            An earlier end of this chain, or its text.
        """
        if isinstance(noted, str):
            noted = Checkpoint.parse(noted)
        links = (self.dataset, *self.entries)
        if noted.count >= len(links):
            _accuse(
                self.dataset.name,
                f"it has {len(self.entries)} entries and had {noted.count} at the checkpoint",
            )
        if links[noted.count].hash != noted.head:
            _accuse(self.dataset.name, f"entry {noted.count} is not the one of the checkpoint")

    def spends(self) -> tuple[Spend, ...]:
        """Return every charge with its settlement, oldest first."""
        found: dict[int, Spend] = {}
        for entry in self.entries:
            if entry.settles is None:
                found[entry.number] = Spend.from_entry(entry)
            else:
                found[entry.settles] = found[entry.settles].settled_by(entry)
        return tuple(found.values())

    def _check(self) -> None:
        """Check the links, then what no writer of ours would have written, whatever its hashes."""
        name, previous, total = self.dataset.name, self.dataset.hash, Cost.pure(0)
        reserved: set[int] = set()
        promised = (self.dataset.relation, self.dataset.max_rows_per_person)
        for number, entry in enumerate(self.entries, start=1):
            if (entry.dataset, entry.number, entry.previous) != (name, number, previous):
                _accuse(name, f"entry {number} does not follow the one before it")
            previous, total = entry.hash, total + entry.cost
            if promised[0] is None:
                promised = (entry.relation, entry.max_rows_per_person)
            if entry.total != total or (entry.relation, entry.max_rows_per_person) != promised:
                _accuse(name, f"entry {number} does not carry on the totals before it")
            if entry.settles is None:
                if entry.state == "failed":
                    _accuse(name, f"entry {number} fails nothing")
                reserved |= {number} if entry.state == "reserved" else set()
            elif entry.settles not in reserved or entry.state == "reserved" or entry.cost != Cost.pure(0):
                _accuse(name, f"entry {number} settles what is not reserved")
            else:
                reserved.remove(entry.settles)
        if not self.dataset.rule.grants(total):
            _accuse(name, "more was charged than its ceiling")


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
    _accuse(row[0], f"{place} does not match its hash")


def _accuse(dataset: Any, what: str) -> NoReturn:
    raise BudgetTamperedError(
        f"the budget record of {dataset!r} was changed after it was written: {what}, so nothing is granted. "
        "Restore the record from before the change; do not start a new one."
    )
