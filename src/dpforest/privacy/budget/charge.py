"""A charge between its reservation and its settlement.

`BudgetAccountant.reserve` gives one out when the charge is on disk; the estimators ask their queries inside
its ``with`` block. Leaving the block settles it. A process that dies inside leaves it reserved, which counts
as spent for ever.
"""

from __future__ import annotations

import os
import warnings
from types import TracebackType

from dpforest.privacy.budget.chain import Receipt
from dpforest.privacy.budget.store import BudgetStore
from dpforest.privacy.errors import BudgetStoreError, BudgetStoreWarning, PrivacyError
from dpforest.privacy.ledger import Ledger


class Charge:
    """A granted request, on disk before the first query.

    Parameters
    ----------
    store : BudgetStore or None
        Who keeps the record; None if nobody is charged.
    receipt : Receipt or None
        The place of the charge in the record. `BudgetAccountant.verify` accepts it as a checkpoint, so it
        proves later that the charge is still there.

    Examples
    --------
    >>> from dpforest.privacy import BudgetAccountant, Cost
    >>> accountant = BudgetAccountant(epsilon=1.0)
    >>> with accountant.reserve(Cost.pure(0.5), "count"):
    ...     accountant.history()[0].state  # and here the rows are looked at
    'reserved'
    >>> accountant.history()[0].state
    'spent'
    """

    def __init__(self, store: BudgetStore | None = None, receipt: Receipt | None = None) -> None:
        self._store = store
        self._receipt = receipt
        self._ledger: Ledger | None = None
        self._process = os.getpid()

    @property
    def receipt(self) -> Receipt | None:
        """The place of the charge in the record, or None if nobody is charged."""
        return self._receipt

    def follow(self, ledger: Ledger) -> None:
        """Let the settlement tell every query of a ledger.

        Parameters
        ----------
        ledger : Ledger
            May still grow.
        """
        self._ledger = ledger

    def check_process(self) -> None:
        """Refuse in a copy of the process that was charged.

        What a fork does with a fit that it interrupted would be a second release on one charge.
        """
        if os.getpid() != self._process:
            raise PrivacyError(
                "this fit was charged in another process, of which this one is a copy: only one of the two "
                "may release a model. Fit again."
            )

    def settle(self, failed: bool = False) -> None:
        """Record that the queries are over; the charge stays. Once is enough, more does nothing.

        Parameters
        ----------
        failed : bool
            Whether they ended early.
        """
        store, self._store = self._store, None
        # what a fork does with a copy of the charge is not for it to settle
        if store is None or self._receipt is None or os.getpid() != self._process:
            return
        queries = None if self._ledger is None else self._ledger.to_dict()["queries"]
        try:
            store.settle(self._receipt, "failed" if failed else "spent", queries)
        except BudgetStoreError as problem:
            # The charge is on disk already: losing the model as well would help nobody's privacy.
            warnings.warn(
                f"charge {self._receipt.count} stays reserved and counts as spent: {problem}",
                BudgetStoreWarning,
                stacklevel=3,
            )

    def __enter__(self) -> Charge:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.settle(failed=kind is not None)
