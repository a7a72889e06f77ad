"""What can go wrong with a budget, as types a caller can catch.

Raised by the plan, the ledger, the accountant and its store; ``PrivacyLeakWarning`` is issued by the
estimators when the user lets them look at private rows without paying. No message ever holds a data value.
"""

from __future__ import annotations


class PrivacyError(RuntimeError):
    """Something was asked for that would break a privacy promise; nothing was released."""


class BudgetExceededError(PrivacyError):
    """A request is larger than what is left of a pool or of an accountant's ceiling."""


class BudgetStoreError(PrivacyError):
    """The record of what was spent cannot be reached, so nothing more may be spent."""


class BudgetUncertainError(BudgetStoreError):
    """The store went away while it was writing: nobody knows yet whether the charge is on disk."""


class ChargeRepeatedError(PrivacyError):
    """A charge of this name was made before; nothing was charged now."""


class BudgetTamperedError(BudgetStoreError):
    """The record of what was spent is not what was written, so nothing more may be spent."""


class BudgetStoreWarning(UserWarning):
    """A charge could not be marked as settled; it stays reserved and counts as spent."""


class PrivacyLeakWarning(UserWarning):
    """A public choice was derived from private rows, so the guarantee is void."""
