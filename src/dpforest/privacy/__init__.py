"""What is promised, what was planned, what was spent. This room never sees data and imports no other.

The order of reading is the order of use: `relation` (who is a neighbour), `guarantee` (what is promised),
`composition` and `conversion` (what steps cost together), `plan` (who may spend what), `events` and
`ledger` (who spent what in one fit), `accountant` with `budget_filter` (one ceiling over many fits) and
`entered` and `left_behind` (whose it is, in threads and processes), `charge` (from reservation to
settlement), `store` (the record that lasts) with `spends`, `notes`, `records`, `chain`, `verification` and
`database`, which is `sqlite` or `postgres`. `exact` and `tables` serve them all.
"""

from dpforest.privacy.budget.accountant import BudgetAccountant
from dpforest.privacy.budget.chain import Checkpoint, Receipt
from dpforest.privacy.budget.charge import Charge
from dpforest.privacy.budget.entered import nobody_pays
from dpforest.privacy.budget.left_behind import LeftBehind
from dpforest.privacy.budget.records import Dataset, schema_hash
from dpforest.privacy.budget.spends import Spend
from dpforest.privacy.budget.store import list_budgets
from dpforest.privacy.budget.verification import repair_budget, verify_budgets
from dpforest.privacy.composition import (
    Cost,
    exponential_epsilon_from_rho,
    gaussian_variance_from_rho,
    pure_epsilon_from_rho,
    row_multiplier,
)
from dpforest.privacy.conversion import epsilon_to_rho, rho_to_epsilon
from dpforest.privacy.errors import (
    BudgetExceededError,
    BudgetStoreError,
    BudgetStoreWarning,
    BudgetTamperedError,
    BudgetUncertainError,
    ChargeRepeatedError,
    PrivacyError,
    PrivacyLeakWarning,
)
from dpforest.privacy.events import Event, Kind, Query
from dpforest.privacy.guarantee import PrivacyGuarantee
from dpforest.privacy.ledger import Ledger
from dpforest.privacy.plan import ALL_ROWS, HELD_OUT_ROWS, TRAINING_ROWS, BudgetPlan, Pool
from dpforest.privacy.relation import NeighboringRelation

__all__ = [
    "ALL_ROWS",
    "HELD_OUT_ROWS",
    "TRAINING_ROWS",
    "BudgetAccountant",
    "BudgetExceededError",
    "BudgetPlan",
    "BudgetStoreError",
    "BudgetStoreWarning",
    "BudgetTamperedError",
    "BudgetUncertainError",
    "Charge",
    "ChargeRepeatedError",
    "Checkpoint",
    "Cost",
    "Dataset",
    "Event",
    "Kind",
    "Ledger",
    "LeftBehind",
    "NeighboringRelation",
    "Pool",
    "PrivacyError",
    "PrivacyGuarantee",
    "PrivacyLeakWarning",
    "Query",
    "Receipt",
    "Spend",
    "epsilon_to_rho",
    "exponential_epsilon_from_rho",
    "gaussian_variance_from_rho",
    "list_budgets",
    "nobody_pays",
    "pure_epsilon_from_rho",
    "repair_budget",
    "rho_to_epsilon",
    "row_multiplier",
    "schema_hash",
    "verify_budgets",
]
