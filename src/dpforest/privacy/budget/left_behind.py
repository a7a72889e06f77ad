"""What a fitted model keeps of its accountant when it leaves the process: not where the budget is."""

from __future__ import annotations

from dataclasses import dataclass

from dpforest.privacy.budget.accountant import BudgetAccountant, accountants_here
from dpforest.privacy.errors import PrivacyError


@dataclass(frozen=True)
class LeftBehind:
    """An accountant that did not come along.

    Where the accountant is at hand, the model finds it again; elsewhere another fit is refused.

    Parameters
    ----------
    budget : str
        Which budget: the hash of its record, which does not tell where it is. Empty if not even that is
        known.

    Examples
    --------
    >>> accountant = BudgetAccountant(epsilon=1.0)
    >>> LeftBehind.of(accountant).found() is accountant
    True
    """

    budget: str = ""

    @classmethod
    def of(cls, accountant: BudgetAccountant) -> LeftBehind:
        """Return what a model keeps of its accountant."""
        return cls(accountant.dataset.hash)

    def found(self) -> BudgetAccountant | LeftBehind:
        """Return the accountant if it is in this process, else the mark itself."""
        return next((one for one in accountants_here() if LeftBehind.of(one) == self), self)

    def refusal(self) -> PrivacyError:
        """Say why nothing can be charged."""
        return PrivacyError(
            "this model was fitted under an accountant in another process, and the accountant stayed behind: "
            "set_params(accountant=...) before the next fit. None charges nobody."
        )
