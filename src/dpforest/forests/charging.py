"""Who pays for a fit, and what becomes of the accountant when an estimator travels.

Worker processes get estimators as pickles. One that is not fitted yet takes along who pays for it: its own
accountant, or the one of the ``with`` block that it is sent from. One that is fitted is a release: it leaves
the accountant behind, so that no pickle of a model tells where a budget is kept, and refuses to be fitted
again where the accountant is not at hand.
"""

from __future__ import annotations

from typing import Any

from sklearn.base import BaseEstimator

from dpforest.privacy import BudgetAccountant, BudgetPlan, Charge, LeftBehind, PrivacyError, schema_hash
from dpforest.schema import Schema, SchemaError


def check_lock(payer: BudgetAccountant | None, schema: Schema, target: Any) -> None:
    """Refuse a schema other than the one that the owner of the budget locked it to, before any charge.

    Parameters
    ----------
    payer : BudgetAccountant or None
        Who would be charged.
    schema : Schema
        What is declared for the fit.
    target : object
        Name of the target's column; anything but text means that it has none. A lock that was made of a bare
        `Schema`, which knows no name, fits every name.
    """
    if payer is None or payer.dataset.schema_hash is None:
        return
    names = [name for name in ("target", target) if isinstance(name, str) and name not in schema.features]
    if payer.dataset.schema_hash in [schema_hash(schema.to_dict(name)) for name in names]:
        return
    unnamed = ""
    if not isinstance(target, str):
        unnamed = (
            " A lock made by the command line names the target's column: y must be a column of that name "
            "(frame['outcome'], or pd.Series(y, name='outcome')), not an array without a name."
        )
    raise SchemaError(
        f"the budget of {payer.dataset.name!r} was made for another schema, and pays for fits with that one "
        "only. Declare the same columns, bounds, categories and target, as in the file that was given to "
        f"`dpforest budget create --schema`.{unnamed} Nothing was charged."
    )


class Charging(BaseEstimator):
    """An estimator whose fits are charged."""

    accountant: BudgetAccountant | LeftBehind | None

    def _payer(self, voids: list[str]) -> BudgetAccountant | None:
        """Return who is charged for the fit; nobody pays for a promise that is not given."""
        payer = BudgetAccountant.current() if self.accountant is None else self.accountant
        if isinstance(payer, LeftBehind):
            raise payer.refusal()
        if payer is not None and voids:
            raise PrivacyError(
                f"{type(self).__name__}: a fit without a privacy guarantee cannot be charged to an "
                f"accountant ({'; '.join(voids)}). Nothing was read and nothing was charged: remove the "
                "cause, or fit without an accountant."
            )
        return payer

    def _spend(self, payer: BudgetAccountant | None, plan: BudgetPlan) -> Charge:
        """Charge the whole plan: on disk before the first query, settled after the last."""
        return Charge() if payer is None else payer.reserve(plan, label=type(self).__name__)

    def __getstate__(self) -> dict[str, Any]:
        state = dict(super().__getstate__())
        payer: BudgetAccountant | LeftBehind | None
        try:
            payer = BudgetAccountant.current() if self.accountant is None else self.accountant
        except PrivacyError:  # several are entered: a fit will be refused, a fitted model may travel
            payer = LeftBehind()
        is_fitted = any(name.endswith("_") for name in state)
        if isinstance(payer, BudgetAccountant) and is_fitted:
            payer = LeftBehind.of(payer)
        return state | {"accountant": payer}

    def __setstate__(self, state: dict[str, Any]) -> None:
        accountant = state["accountant"]
        if isinstance(accountant, LeftBehind):
            accountant = accountant.found()
        super().__setstate__(state | {"accountant": accountant})
