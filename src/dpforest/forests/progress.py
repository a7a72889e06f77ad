"""What a fit shows while it runs: looks at the rows so far, and how much of the plan they have spent.

Every look is at least one pass over all rows, and is shown when it is paid for: before the pass, so that on
a cluster one sees what is being waited for. It tells what the ledger tells: which queries there are, and what
they cost, follows from the plan and from released values. Numbers of rows are not in it.
"""

from __future__ import annotations

import sys
from fractions import Fraction

from dpforest.privacy import BudgetPlan, Event


class Progress:
    """Writes a line for every look.

    Parameters
    ----------
    owner : str
        Name of the estimator.
    plan : BudgetPlan
        What will be spent.
    """

    def __init__(self, owner: str, plan: BudgetPlan) -> None:
        self._owner, self._plan = owner, plan
        self._queries, self._spent = 0, dict[str, Fraction]()

    def __call__(self, event: Event) -> None:
        """Show a look that was paid for."""
        self._queries += 1
        self._spent[event.pool] = self._spent.get(event.pool, Fraction(0)) + event.cost
        amounts = {pool.name: self._plan.amount(pool.name) for pool in self._plan.pools}
        done = 100 * self._plan.compose(self._spent) / self._plan.compose(amounts)
        print(
            f"[{self._owner}] query {self._queries}, with it {int(done)}% of the plan: "
            f"{event.purpose}: {event.mechanism}",
            file=sys.stderr,
        )
