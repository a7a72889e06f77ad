"""Who pays for an estimate, and whether it can be paid at all."""

from __future__ import annotations

from collections.abc import Mapping

from dpforest.forests.foresight import Ask
from dpforest.privacy import BudgetAccountant, BudgetPlan, Charge


def check_payable(owner: str, plan: BudgetPlan, reach: Mapping[str, int]) -> None:
    """Refuse a budget for which no noise can be drawn, before any row is read.

    Parameters
    ----------
    owner : str
        Who asks, for the error message.
    plan : BudgetPlan
        What may be spent.
    reach : mapping
        How far, in L1 norm, a row moves what each pool pays for.
    """
    for pool, moved in reach.items():
        try:
            Ask(pool, reach=moved, squared=moved).pay(plan)
        except ValueError as error:
            raise ValueError(f"{owner}: the budget is too small ({error}) Nothing was charged.") from None


def paid_by(accountant: BudgetAccountant | None, plan: BudgetPlan, label: str) -> Charge:
    """Charge a whole plan to an accountant, or to that of the ``with`` block around; nobody without one."""
    payer = BudgetAccountant.current() if accountant is None else accountant
    return Charge() if payer is None else payer.reserve(plan, label=label)
