"""Plans and ledgers as tables that fit a terminal; ``plan`` and ``inspect`` show them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpforest.cli.answers import table

if TYPE_CHECKING:
    from rich.table import Table

    from dpforest.privacy import BudgetPlan, Ledger


def plan_table(plan: BudgetPlan) -> Table:
    """Lay out the pools of a plan."""
    from dpforest.privacy.exact import short

    symbol = plan.symbol
    rows = [
        [
            pool.name,
            pool.purpose,
            pool.rows,
            f"{float(pool.share):.4g}",
            short(plan.amount(pool.name)),
        ]
        for pool in plan.pools
    ]
    return table(["pool", "purpose", "rows", "share", symbol], rows, frozenset({"share", symbol}))


def ledger_table(ledger: Ledger) -> Table:
    """Lay out the queries of a ledger, with their costs and noise."""
    from dpforest.privacy.exact import short

    symbol = ledger.plan.symbol
    rows = []
    for query in ledger:
        sd, epsilon = query.parameters.get("noise_sd"), query.parameters.get("epsilon")
        noise = f"sd {sd:.3g}" if isinstance(sd, float) else ""
        if isinstance(epsilon, float):
            noise = f"epsilon {epsilon:.3g}"
        rows.append([query.purpose, query.mechanism, query.rows, noise, short(query.cost)])
    return table(["query", "mechanism", "rows", "noise", symbol], rows, frozenset({symbol}))
