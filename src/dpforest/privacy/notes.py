"""What a caller says about charges: who asks, what for, under which name.

`BudgetAccountant.charging` makes one; the accountant puts it on every request inside the block.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from dpforest.privacy.chain import Receipt
from dpforest.privacy.spends import Request


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
