"""Which accountant pays for a fit that was given none, in whatever thread or process it runs.

``with accountant:`` enters it in the current context. Threads start with an empty context, so every entry is
known to the whole process too: a thread that has entered nothing itself works for whoever has. Processes get
it with the estimator that is sent to them (`dpforest.forests.charging`), or are told by their parent
(`family`).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dpforest.privacy.budget.family import tell_children, told_by_parents
from dpforest.privacy.errors import PrivacyError

if TYPE_CHECKING:
    from dpforest.privacy.budget.accountant import BudgetAccountant


@dataclass(eq=False)
class _Entry:
    """One ``with`` block, and the one around it."""

    accountant: BudgetAccountant | None
    around: _Entry | None


_here: ContextVar[_Entry | None] = ContextVar("dpforest_entered_accountant", default=None)
_everywhere: list[_Entry] = []  # changed by single calls only, so that no fork can find a lock taken


def enter(accountant: BudgetAccountant) -> None:
    """Begin a ``with`` block."""
    entry = _Entry(accountant, _here.get())
    _everywhere.append(entry)
    _here.set(entry)
    _tell()


def leave(accountant: BudgetAccountant) -> None:
    """End the innermost ``with`` block of an accountant; blocks inside it that are still open stay so."""
    inside, entry = None, _here.get()
    while entry is not None and entry.accountant is not accountant:
        inside, entry = entry, entry.around
    if entry is not None and inside is None:
        _here.set(entry.around)
    elif entry is not None and inside is not None:  # two generators, say, of which the first ended first
        inside.around = entry.around
    if entry not in _everywhere:  # left in another context than it was entered in
        entry = next((one for one in reversed(_everywhere) if one.accountant is accountant), None)
    if entry is not None:
        _everywhere.remove(entry)
        _tell()


@contextmanager
def nobody_pays() -> Iterator[None]:
    """Charge no fit inside the ``with`` block, in this context alone: for tables that are made up."""
    token = _here.set(_Entry(None, _here.get()))
    try:
        yield
    finally:
        _here.reset(token)


def current() -> BudgetAccountant | None:
    """Return the accountant of the innermost ``with`` block around the caller, or None.

    Raises
    ------
    PrivacyError
        If the caller's thread has entered none and other threads have entered different ones.
    """
    entry = _here.get()
    if entry is not None:
        return entry.accountant
    payers = _payers(tuple(_everywhere)) or list({id(one): one for one in told_by_parents()}.values())
    if len(payers) > 1:
        raise PrivacyError(
            "several accountants are entered in other threads, and this thread has entered none: give the "
            "estimator its accountant as a parameter."
        )
    return payers[0] if payers else None


def _payers(entries: tuple[_Entry, ...]) -> list[BudgetAccountant]:
    """Return the accountants of the innermost blocks."""
    around = {id(outer) for entry in entries for outer in _blocks_around(entry)}
    innermost = [entry.accountant for entry in entries if id(entry) not in around]
    return list({id(payer): payer for payer in innermost if payer is not None}.values())


def _blocks_around(entry: _Entry) -> Iterator[_Entry]:
    while entry.around is not None:
        entry = entry.around
        yield entry


def _tell() -> None:
    """Tell child processes who pays; again if another thread has changed that meanwhile."""
    told = None
    while told != (entries := tuple(_everywhere)):
        tell_children(_payers(entries))
        told = entries
