"""One budget for many fits.

A user makes a `BudgetAccountant` for a dataset and gives it to estimators; every fit charges its whole plan
before the first row is read. The ceiling is kept by `BudgetFilter`, the record by a `BudgetStore`.
"""

from __future__ import annotations

from contextvars import ContextVar
from types import TracebackType
from typing import Any
from weakref import WeakValueDictionary

from dpforest.privacy.budget_filter import BudgetFilter
from dpforest.privacy.composition import Cost
from dpforest.privacy.errors import BudgetExceededError, PrivacyError
from dpforest.privacy.exact import Number, float_at_least, read_positive_integer, short
from dpforest.privacy.plan import BudgetPlan
from dpforest.privacy.relation import NeighboringRelation
from dpforest.privacy.store import BudgetStore, Spend, TemporaryStore

_entered: ContextVar[tuple[BudgetAccountant, ...]] = ContextVar("dpforest_entered_accountants", default=())
_by_token: WeakValueDictionary[str, BudgetAccountant] = WeakValueDictionary()


class BudgetAccountant:
    """Keeps everything released about one dataset within (epsilon, delta).

    There is one budget, however the object travels: ``sklearn.base.clone``, ``copy`` and ``deepcopy``
    return the object itself, and pickling (worker processes of joblib, for example) gives a handle on the
    same record. So ``cross_val_score(..., n_jobs=2)`` and ``GridSearchCV`` charge every fit to one ceiling.
    What was spent is never given back, not even if a fit fails or is interrupted: whoever saw it fail has
    learned something.

    As a context manager it becomes the default of the current context (`current`). New threads and worker
    processes start with an empty context: pass the accountant as a parameter there.

    Parameters
    ----------
    epsilon : float
        Ceiling, per person.
    delta : float
        Ceiling; with 0 only pure plans are granted.

    Examples
    --------
    >>> accountant = BudgetAccountant(epsilon=1.0)
    >>> fit = BudgetPlan.divide(0.4, 0.0, {"everything": 1})
    >>> for _ in range(2):
    ...     _ = accountant.spend(fit, label="fit")
    >>> accountant.total(), accountant.remaining(), len(accountant)
    ((0.8, 0.0), (0.2, 0.0), 2)
    >>> accountant.check(fit)
    Traceback (most recent call last):
    dpforest.privacy.errors.BudgetExceededError: requested epsilon = 0.4, delta = 0; remaining ...
    """

    def __init__(self, epsilon: Number, delta: Number = 0.0) -> None:
        self._join(TemporaryStore.create(), BudgetFilter.for_ceiling(epsilon, delta))

    def _join(self, store: BudgetStore, rule: BudgetFilter) -> None:
        self._store = store
        self._rule = rule
        _by_token[store.token] = self

    @property
    def epsilon(self) -> float:
        """The ceiling's epsilon."""
        return float_at_least(self._rule.epsilon)

    @property
    def delta(self) -> float:
        """The ceiling's delta."""
        return float_at_least(self._rule.delta)

    @staticmethod
    def current() -> BudgetAccountant | None:
        """Return the accountant of the innermost ``with`` in this context, or None."""
        entered = _entered.get()
        return entered[-1] if entered else None

    def spend(
        self,
        request: BudgetPlan | Cost,
        label: str = "",
        *,
        relation: NeighboringRelation | None = None,
        max_rows_per_person: int | None = None,
    ) -> Spend:
        """Charge a plan or a cost, for good, or refuse and charge nothing.

        Parameters
        ----------
        request : BudgetPlan or Cost
            A plan is charged its whole promise.
        label : str
            A note for `history`; it must not depend on private rows.
        relation, max_rows_per_person : optional
            Only for a bare `Cost`, whose neighbours are otherwise taken to be those of adding or removing
            one row.

        Returns
        -------
        Spend
            What was recorded.

        Raises
        ------
        BudgetExceededError
            If it would lift the total above the ceiling.
        PrivacyError
            If it is stated for other neighbours than the first spend was.
        BudgetStoreError
            If the record cannot be reached.
        """
        spend = _as_spend(request, label, relation, max_rows_per_person)
        self._store.append(spend, lambda earlier: self._refuse_unless_fits(request, spend, earlier))
        return spend

    def check(
        self,
        request: BudgetPlan | Cost,
        *,
        relation: NeighboringRelation | None = None,
        max_rows_per_person: int | None = None,
    ) -> None:
        """Raise what `spend` would raise now, without spending.

        Parameters
        ----------
        request, relation, max_rows_per_person
            As in `spend`.
        """
        spend = _as_spend(request, "", relation, max_rows_per_person)
        self._refuse_unless_fits(request, spend, self._store.records())

    def total(self) -> tuple[float, float]:
        """Return (epsilon, delta) spent so far.

        What is proven for budgets chosen along the way is the ceiling; this running figure is exact for pure
        spends, and with delta > 0 it is what the same spends would cost had they been fixed beforehand.
        """
        return self._rule.spent(_sum(self._store.records()))

    def remaining(self) -> tuple[float, float]:
        """Return the largest (epsilon, delta) that one more plan may ask for."""
        return self._rule.rest(_sum(self._store.records()))

    def history(self) -> tuple[Spend, ...]:
        """Return every spend, oldest first."""
        return self._store.records()

    def _refuse_unless_fits(
        self, request: BudgetPlan | Cost, spend: Spend, earlier: tuple[Spend, ...]
    ) -> None:
        if earlier:
            fixed = (earlier[0].relation, earlier[0].max_rows_per_person)
            asked = (spend.relation, spend.max_rows_per_person)
            if fixed != asked:
                raise PrivacyError(
                    f"this accountant adds promises for {fixed[0]!r}, at most {fixed[1]} row(s) per person; "
                    f"requested {asked[0]!r}, {asked[1]} row(s): use the same setting or one accountant each."
                )
        total = _sum(earlier)
        if self._rule.grants(total + spend.cost):
            return
        epsilon, delta = self._rule.rest(total)
        hint = "" if delta or spend.cost.is_pure or not epsilon else " only plans with delta = 0 still fit,"
        raise BudgetExceededError(
            f"requested {_in_words(request)}; remaining epsilon = {short(epsilon)}, delta = {short(delta)}; "
            f"ceiling epsilon = {short(self._rule.epsilon)}, delta = {short(self._rule.delta)}:{hint} "
            "ask for less per fit or fit less often (every fold and every candidate is a fit); "
            "spending is never undone."
        )

    def __len__(self) -> int:
        return len(self._store.records())

    def __bool__(self) -> bool:
        return True  # an accountant nobody has used yet is still an accountant

    def __enter__(self) -> BudgetAccountant:
        _entered.set((*_entered.get(), self))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _entered.set(_entered.get()[:-1])

    def __sklearn_clone__(self) -> BudgetAccountant:
        return self

    def __copy__(self) -> BudgetAccountant:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> BudgetAccountant:
        return self

    def __reduce__(self) -> tuple[Any, tuple[BudgetStore, BudgetFilter]]:
        return _attach, (self._store, self._rule)

    def __repr__(self) -> str:
        return f"BudgetAccountant(epsilon={self.epsilon!r}, delta={self.delta!r})"


def _attach(store: BudgetStore, rule: BudgetFilter) -> BudgetAccountant:
    """Return this process's accountant for a store, made on first use."""
    known = _by_token.get(store.token)
    if known is not None:
        return known
    accountant = BudgetAccountant.__new__(BudgetAccountant)
    accountant._join(store, rule)
    return accountant


def _as_spend(
    request: BudgetPlan | Cost,
    label: str,
    relation: NeighboringRelation | None,
    max_rows_per_person: int | None,
) -> Spend:
    if isinstance(request, BudgetPlan):
        if relation is not None or max_rows_per_person is not None:
            raise TypeError("a plan states its own relation and rows per person: leave them out.")
        return Spend(request.cost, request.relation, request.max_rows_per_person, label)
    if not isinstance(request, Cost):
        raise TypeError(f"spend a BudgetPlan or a Cost, got {type(request).__name__}: write Cost.pure(0.5).")
    rows = (
        1
        if max_rows_per_person is None
        else read_positive_integer(max_rows_per_person, "max_rows_per_person")
    )
    return Spend(request, relation or NeighboringRelation.ADD_OR_REMOVE_ONE, rows, label)


def _sum(spends: tuple[Spend, ...]) -> Cost:
    return sum((spend.cost for spend in spends), Cost.pure(0))


def _in_words(request: BudgetPlan | Cost) -> str:
    if isinstance(request, BudgetPlan):
        return f"epsilon = {short(request.epsilon)}, delta = {short(request.delta)}"
    if request.epsilon is not None:
        return f"epsilon = {short(request.epsilon)}"
    return f"rho = {short(request.rho)}"
