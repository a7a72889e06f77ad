"""The two observers of the curator: one writes a fit down, the other replays it on a neighbouring table."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from dpforest._curator import Curator, Look
from dpforest.audit.replay.facts import Facts, differing, facts_of
from dpforest.audit.replay.movement import Movement

LARGEST = 2**62  # integers of this size could leave int64 in a sum


class Asked(NamedTuple):
    """A question, and what it was about."""

    words: str
    arguments: Facts


class Answered(NamedTuple):
    """A look: what it was paid for, the private table, what is public about it, what was released."""

    words: str
    number: int  # of the payment; a look at many nodes has several tables
    look: Look
    table: NDArray[Any]
    public: tuple[NDArray[Any], ...]
    answer: NDArray[np.int64]


class Scattered(NamedTuple):
    """The secret draw of rows to trees."""

    words: str
    trees: NDArray[np.int64]


class Unpaid(NamedTuple):
    """Tables that are said to be public."""

    words: str
    tables: Facts


Entry: TypeAlias = Asked | Answered | Scattered | Unpaid
E = TypeVar("E", Asked, Answered, Scattered, Unpaid)


@dataclass
class Recorder:
    """Writes down the transcript of a fit."""

    entries: list[Entry] = field(default_factory=list)
    looks: list[Look] = field(default_factory=list)

    def asked(self, question: str, args: tuple[Any, ...], named: Mapping[str, Any]) -> None:
        """Write the question down, its arguments by name."""
        self.entries.append(Asked(f"the question {question}", _by_name(question, args, named)))

    def answer(
        self, look: Look, run: Callable[..., NDArray[np.int64]], table: NDArray[Any], *public: NDArray[Any]
    ) -> NDArray[np.int64]:
        """Let the mechanism answer."""
        number = _number(look, self.looks)
        answer = run(table, *public)
        words = f"the look for {look.event.purpose}"
        copies = np.array(table), tuple(np.array(part) for part in public), np.array(answer)
        self.entries.append(Answered(words, number, look, *copies))
        return answer

    def scatter(self, draw: Callable[[], NDArray[np.int64]]) -> NDArray[np.int64]:
        """Let chance decide."""
        trees = draw()
        self.entries.append(Scattered("the draw of rows to trees", trees.copy()))
        return trees

    def unpaid(self, *tables: NDArray[Any]) -> None:
        """Write public tables down."""
        self.entries.append(Unpaid("a public table", facts_of(tables, "table")))


class Diverged(BaseException):
    """The fit on the neighbour took another way; no `except Exception` may hide it."""


@dataclass
class Replayer:
    """Answers as the transcript says, and compares what is asked and looked at with it.

    Parameters
    ----------
    entries : list of Entry
        The transcript of the fit on the first table.
    kept : ndarray of int
        For every row of the neighbour, its place in the first table; -1 for a new row.
    tell : callable
        Called with what kind of difference was found, where, and what it is.
    """

    entries: list[Entry]
    kept: NDArray[np.int64]
    tell: Callable[[str, str, str], None]
    at: int = 0
    looks: list[Look] = field(default_factory=list)
    movements: list[Movement] = field(default_factory=list)

    def asked(self, question: str, args: tuple[Any, ...], named: Mapping[str, Any]) -> None:
        """Compare the question and its arguments."""
        words = f"the question {question}"
        expected = self._next(Asked, words)
        for name in differing(expected.arguments, _by_name(question, args, named)):
            self.tell("question", words, f"its argument {name} differs")

    def answer(
        self, look: Look, run: Callable[..., NDArray[np.int64]], table: NDArray[Any], *public: NDArray[Any]
    ) -> NDArray[np.int64]:
        """Compare the look, measure how far its table moved, and give the first answer again."""
        words = f"the look for {look.event.purpose}"
        expected = self._next(Answered, words)
        number = _number(look, self.looks)
        if number != expected.number or table.shape != expected.table.shape:
            self.tell("question", words, "the shape of its table differs")
            raise Diverged
        if number == len(self.movements):  # the first table of this look
            self.movements.append(Movement(look))
            if look != expected.look:
                self.tell("amount", words, "what was charged, its strength or its declared range differs")
        if facts_of(public) != facts_of(expected.public):
            self.tell("candidates", words, "its candidates or their base weights differ")
            raise Diverged
        if table.dtype.kind not in "iu" or np.abs(table.astype(np.float64)).max(initial=0) >= LARGEST:
            self.tell("movement", words, "its table does not hold integers of a safe size")
        self.movements[number].add(expected.table, table, *public)
        return expected.answer.copy()

    def scatter(self, draw: Callable[[], NDArray[np.int64]]) -> NDArray[np.int64]:
        """Give the rows of the first table the trees they had, and new rows trees of their own."""
        words = "the draw of rows to trees"
        before, drawn = self._next(Scattered, words).trees, draw()
        if len(drawn) != len(self.kept) or self.kept.max(initial=-1) >= len(before):
            self.tell("question", words, "it is not about one tree for every row of the table")
            raise Diverged
        again = before[self.kept] if len(before) else drawn
        return np.where(self.kept < 0, drawn, again)

    def unpaid(self, *tables: NDArray[Any]) -> None:
        """Compare tables that are said to be public."""
        expected = self._next(Unpaid, "a public table")
        if differing(expected.tables, facts_of(tables, "table")):
            self.tell("question", "a public table", "it differs, so it is not public")

    def end(self) -> None:
        """Find out whether anything was left out."""
        if self.at < len(self.entries):
            self.tell("question", self.entries[self.at].words, "it was not asked again")

    def _next(self, kind: type[E], words: str) -> E:
        entry = self.entries[self.at] if self.at < len(self.entries) else None
        self.at += 1
        if not isinstance(entry, kind) or entry.words != words:
            instead = "nothing" if entry is None else entry.words
            self.tell("question", words, f"it was asked where the first fit asked {instead}")
            raise Diverged
        return entry


def _number(look: Look, looks: list[Look]) -> int:
    """Return the number of a payment, in the order of first use."""
    for number, known in enumerate(looks):
        if known is look:
            return number
    looks.append(look)
    return len(looks) - 1


def _by_name(question: str, args: tuple[Any, ...], named: Mapping[str, Any]) -> Facts:
    signature = inspect.signature(getattr(Curator, question))
    bound = signature.bind(None, *args, **named)
    bound.apply_defaults()
    facts: Facts = {}
    for name, value in list(bound.arguments.items())[1:]:
        facts |= facts_of(value, name)
    return facts
