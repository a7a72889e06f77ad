"""What a caller says about charges: who asks, what for, under which name.

`BudgetAccountant.charging` begins a block, in which the accountant puts the notes on every request. Blocks of
different threads do not mix; a thread that has begun none works inside the one that another has begun.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from dpforest.privacy.budget.chain import Receipt
from dpforest.privacy.budget.spends import Request
from dpforest.privacy.errors import PrivacyError


@dataclass
class Notes:
    """Who asks, what for, under which name; and what was charged so far.

    Parameters
    ----------
    analyst, purpose : str
        In the caller's words.
    name : str or None
        Of the one charge that may be made.
    receipts : list of Receipt
        What was charged in this process.
    """

    analyst: str = ""
    purpose: str = ""
    name: str | None = None
    receipts: list[Receipt] = field(default_factory=list)

    def on(self, request: Request) -> Request:
        """Return a request that carries these notes.

        Parameters
        ----------
        request : Request
            Without any.
        """
        return replace(request, name=self.name, analyst=self.analyst, purpose=self.purpose)

    def copied(self) -> Notes:
        """Return the same notes for another process, where nothing was charged yet."""
        return Notes(self.analyst, self.purpose, self.name)


class Notebook:
    """The blocks of notes that an accountant is in.

    Parameters
    ----------
    outside : Notes, optional
        What holds outside of any block: what a worker process was sent with.
    """

    def __init__(self, outside: Notes | None = None) -> None:
        self.outside = outside or Notes()
        # Changed by single calls only, so that no fork can find a lock taken.
        self._open: list[tuple[int, Notes]] = []

    @contextmanager
    def block(self, notes: Notes) -> Iterator[Notes]:
        """Put notes on every charge inside a ``with`` block.

        Parameters
        ----------
        notes : Notes
            What to say.
        """
        page = (threading.get_ident(), notes)
        self._open.append(page)
        try:
            yield notes
        finally:
            self._open = [one for one in self._open if one is not page]

    def current(self) -> Notes:
        """Return the notes of the innermost block around the caller.

        Raises
        ------
        PrivacyError
            If the caller's thread has begun none and several others have.
        """
        pages, here = list(self._open), threading.get_ident()
        mine = [notes for thread, notes in pages if thread == here]
        if mine:
            return mine[-1]
        if len({thread for thread, _ in pages}) > 1:
            raise PrivacyError(
                "several threads say who charges this accountant, and this thread does not: begin a "
                "charging(...) block in the thread that fits."
            )
        return pages[-1][1] if pages else self.outside
