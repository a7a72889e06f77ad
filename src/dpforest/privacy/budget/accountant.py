"""One budget for many fits.

A user makes a `BudgetAccountant` for a dataset and gives it to estimators; every fit reserves its whole plan
before the first look at a row and settles it after the last. The ceiling is kept by `BudgetFilter`, the
record by a `BudgetStore`.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Any
from weakref import WeakValueDictionary

from dpforest.privacy.budget.chain import Checkpoint, Receipt
from dpforest.privacy.budget.charge import Charge
from dpforest.privacy.budget.database import Address, at_address
from dpforest.privacy.budget.entered import current, enter, leave
from dpforest.privacy.budget.filter import BudgetFilter
from dpforest.privacy.budget.notes import Notebook, Notes
from dpforest.privacy.budget.records import Dataset, Described, State, add_up
from dpforest.privacy.budget.spends import Request, Spend
from dpforest.privacy.budget.sqlite import SqliteDatabase
from dpforest.privacy.budget.store import BudgetStore, Standing
from dpforest.privacy.budget.verification import Progress, verify_store
from dpforest.privacy.composition import Cost
from dpforest.privacy.errors import BudgetExceededError, PrivacyError
from dpforest.privacy.exact import Number, float_at_least, read_positive_integer, short, short_rest
from dpforest.privacy.plan import BudgetPlan
from dpforest.privacy.relation import NeighboringRelation

_by_identity: WeakValueDictionary[tuple[str | None, str], BudgetAccountant] = WeakValueDictionary()


class BudgetAccountant:
    """Keeps everything released about one dataset within (epsilon, delta).

    There is one budget, however the object travels: ``sklearn.base.clone``, ``copy`` and ``deepcopy``
    return the object itself, and pickling (worker processes of joblib, for example) gives a handle on the
    same record. So ``cross_val_score(..., n_jobs=2)`` and ``GridSearchCV`` charge every fit to one ceiling.
    What was spent is never given back, not even if a fit fails or is interrupted: whoever saw it fail has
    learned something.

    A budget made by the constructor ends with the object. `create` makes one that lasts, in a file or on a
    PostgreSQL server, and `open` finds it again: shared by processes, crashes and people.

    As a context manager it pays for every fit inside the block that has no accountant of its own: in this
    thread, in threads that have entered none themselves, in processes that this one has started, and
    wherever an estimator is sent from inside the block. An estimator that is *made* on another machine knows
    nothing of the block: pass the accountant as a parameter there.

    Parameters
    ----------
    epsilon : float
        Ceiling, per person.
    delta : float
        Ceiling; with 0 only pure plans are granted.
    loose_delta : float
        The part of delta that is set aside for queries with a delta of their own, such as finding categories;
        it cannot be changed later, see `BudgetFilter`.

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

    def __init__(self, epsilon: Number, delta: Number = 0.0, loose_delta: Number = 0.0) -> None:
        rule = BudgetFilter.for_ceiling(epsilon, delta, loose_delta)
        dataset = Dataset.new("in memory", rule)
        self._join(BudgetStore.create(SqliteDatabase.temporary(), dataset))

    @classmethod
    def create(
        cls,
        address: Address,
        *,
        dataset: str,
        epsilon: Number,
        delta: Number = 0.0,
        loose_delta: Number = 0.0,
        schema: Described | Mapping[str, Any] | None = None,
        relation: NeighboringRelation = NeighboringRelation.ADD_OR_REMOVE_ONE,
        max_rows_per_person: int = 1,
    ) -> BudgetAccountant:
        """Make a budget that lasts. It can be spent, but never changed or replaced.

        Parameters
        ----------
        address : str or path
            A file, made if it is not there, or ``postgresql://user@host/name`` (no password: give it by
            ``PGPASSWORD`` or ``~/.pgpass``). One file or server can keep the budgets of many datasets.
        dataset : str
            A name for the dataset.
        epsilon, delta : number
            Ceiling, per person.
        loose_delta : number
            The part of delta that is set aside for queries with a delta of their own.
        schema : Schema or mapping, optional
            What is public about the dataset; its hash is recorded, and fits of forests with another schema
            are refused. A mapping also fixes the name of the target's column (``schema.to_dict("outcome")``).
        relation : NeighboringRelation
            Whom the ceiling protects; fits for other neighbours are refused.
        max_rows_per_person : int
            How many rows one person holds at most.

        Examples
        --------
        >>> import tempfile
        >>> folder = tempfile.TemporaryDirectory()
        >>> file = f"{folder.name}/budget.db"
        >>> accountant = BudgetAccountant.create(file, dataset="patients", epsilon=3.0)
        >>> _ = accountant.spend(Cost.pure(1), "count")
        >>> BudgetAccountant.open(file, dataset="patients").remaining()
        (2.0, 0.0)
        >>> folder.cleanup()
        """
        rule = BudgetFilter.for_ceiling(epsilon, delta, loose_delta)
        rows = read_positive_integer(max_rows_per_person, "max_rows_per_person")
        described = Dataset.new(dataset, rule, relation, rows, schema)
        return _attach(BudgetStore.create(at_address(address), described))

    @classmethod
    def open(cls, address: Address, *, dataset: str) -> BudgetAccountant:
        """Find a budget that `create` made, and check the end of its record; `verify` checks all of it.

        Parameters
        ----------
        address : str or path
            Where it is kept.
        dataset : str
            Its name.

        Raises
        ------
        BudgetStoreError
            If it is not there.
        BudgetTamperedError
            If its record is not what was written.
        """
        return _attach(BudgetStore.open(at_address(address), dataset))

    def _join(self, store: BudgetStore) -> None:
        self._store = store
        self._notebook, self._travelled = Notebook(), False
        self._rule = store.dataset.rule
        _by_identity[store.identity] = self

    @property
    def epsilon(self) -> float:
        """The ceiling's epsilon."""
        return float_at_least(self._rule.epsilon)

    @property
    def delta(self) -> float:
        """The ceiling's delta."""
        return float_at_least(self._rule.delta)

    @property
    def dataset(self) -> Dataset:
        """The dataset as recorded: name, hash of the schema, ceiling, relation, who made it and when."""
        return self._store.dataset

    @staticmethod
    def current() -> BudgetAccountant | None:
        """Return the accountant of the innermost ``with`` around the caller, or None.

        A thread that has entered none works for the one that others of its process have entered.

        Raises
        ------
        PrivacyError
            If these are several.
        """
        return current()

    def charging(
        self, *, analyst: str = "", purpose: str = "", name: str | None = None
    ) -> AbstractContextManager[Notes]:
        """Say who charges, what for and under which name, for all charges inside the block.

        Parameters
        ----------
        analyst, purpose : str
            Kept with every charge, for good. Public: they must not depend on private rows.
        name : str, optional
            A name for one charge. A second charge of that name is refused, in whichever process and however
            much later, so that a program that was interrupted can ask again without paying twice.

        Returns
        -------
        context manager
            Gives `Notes`, whose `receipts` tell what was charged inside the block.

        Examples
        --------
        >>> accountant = BudgetAccountant(epsilon=1.0)
        >>> with accountant.charging(analyst="A. Meyer", purpose="readmissions", name="week 3") as notes:
        ...     _ = accountant.spend(Cost.pure(0.5))
        >>> len(notes.receipts), accountant.find("week 3").analyst
        (1, 'A. Meyer')
        """
        return self._notebook.block(Notes(analyst, purpose, name))

    def neighbours(self) -> tuple[NeighboringRelation | None, int | None]:
        """Return for which neighbours, and rows per person, charges must be stated; None if not decided."""
        standing = self._store.standing()
        relation = None if standing.relation is None else NeighboringRelation(standing.relation)
        return relation, standing.max_rows_per_person

    def find(self, name: str) -> Spend | None:
        """Return the charge that was made under a name and what became of it, or None.

        Parameters
        ----------
        name : str
            As given to `charging`.
        """
        return self._store.find(name)

    def find_charge(self, receipt: Checkpoint) -> Spend | None:
        """Return the charge that a receipt is for and what became of it, or None if it is not there.

        Parameters
        ----------
        receipt : Checkpoint
            The receipt of a charge, or of a model.
        """
        return self._store.charge_at(receipt)

    def reserve(
        self,
        request: BudgetPlan | Cost,
        label: str = "",
        *,
        relation: NeighboringRelation | None = None,
        max_rows_per_person: int | None = None,
    ) -> Charge:
        """Charge a plan or a cost, for good, or refuse and charge nothing. Look only afterwards.

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
        Charge
            On disk as ``"reserved"``; as a context manager it is settled on leaving.

        Raises
        ------
        BudgetExceededError
            If it would lift the total above the ceiling.
        PrivacyError
            If it is stated for other neighbours than the dataset or the first charge was.
        BudgetStoreError
            If the record cannot be read or written.
        """
        return Charge(self._store, self._append(request, label, relation, max_rows_per_person, "reserved"))

    def spend(
        self,
        request: BudgetPlan | Cost,
        label: str = "",
        *,
        relation: NeighboringRelation | None = None,
        max_rows_per_person: int | None = None,
    ) -> Receipt:
        """Charge a plan or a cost and settle it at once; otherwise like `reserve`.

        Parameters
        ----------
        request, label, relation, max_rows_per_person
            As in `reserve`.

        Returns
        -------
        Receipt
            The place of the charge in the record.
        """
        return self._append(request, label, relation, max_rows_per_person, "spent")

    def _append(
        self,
        request: BudgetPlan | Cost,
        label: str,
        relation: NeighboringRelation | None,
        max_rows_per_person: int | None,
        state: State,
    ) -> Receipt:
        notes = self._notebook.current()
        asked = notes.on(_as_request(request, label, relation, max_rows_per_person))
        receipt = self._store.append(asked, state, lambda now: self._refuse_unless_fits(asked, now))
        notes.receipts.append(receipt)
        return receipt

    def check(
        self,
        request: BudgetPlan | Cost,
        *,
        relation: NeighboringRelation | None = None,
        max_rows_per_person: int | None = None,
    ) -> None:
        """Raise what `reserve` would raise now, without charging.

        Parameters
        ----------
        request, relation, max_rows_per_person
            As in `reserve`.
        """
        asked = _as_request(request, "", relation, max_rows_per_person)
        self._refuse_unless_fits(asked, self._store.standing())

    def total(self) -> tuple[float, float]:
        """Return (epsilon, delta) charged so far, settled or not: what the releases promise together.

        With pure charges, ``remaining()`` is the ceiling less this. With delta > 0 it is not: charges add up
        as rho, whose epsilon grows like a square root (ten fits at epsilon = 1 come to about 3.5), and
        `remaining` is what a single further plan may ask for.

        What is proven for budgets chosen along the way is the ceiling; this running figure is exact for pure
        charges, and with delta > 0 it is what the same charges would cost had they been fixed beforehand.
        """
        return self._rule.spent(self._store.standing().total)

    def remaining(self) -> tuple[float, float]:
        """Return the largest (epsilon, delta) that one more plan may ask for.

        Where delta > 0 was charged, `total` and this do not add up to the ceiling; see `total`. Whether a
        certain fit still fits is asked by ``check(model.privacy_plan())``.
        """
        return self._rule.rest(self._store.standing().total)

    def history(self) -> tuple[Spend, ...]:
        """Return every charge and what became of it, oldest first; the record is checked on the way."""
        return self._store.history()

    def verify(
        self, checkpoint: Checkpoint | str | None = None, progress: Progress | None = None
    ) -> Checkpoint:
        """Check that the record is what was written, and return where it ends.

        Parameters
        ----------
        checkpoint : Checkpoint or str, optional
            What an earlier call returned, or the receipt of a charge. Without it, entries removed from the
            very end and a record forged from some entry to its end are not found.
        progress : callable, optional
            Is told the dataset and the number of entries checked so far, now and then.

        Returns
        -------
        Checkpoint
            To be noted down elsewhere, for a later call.

        Raises
        ------
        BudgetTamperedError
            If an entry was edited, removed, added or moved.

        Examples
        --------
        >>> accountant = BudgetAccountant(epsilon=1.0)
        >>> receipt = accountant.spend(Cost.pure(0.5))
        >>> accountant.verify(receipt).count
        1
        """
        return verify_store(self._store, checkpoint, progress)

    def _refuse_unless_fits(self, asked: Request, standing: Standing) -> None:
        wanted = (asked.relation.value, asked.max_rows_per_person)
        fixed = (standing.relation, standing.max_rows_per_person)
        if standing.relation is not None and fixed != wanted:
            raise PrivacyError(
                f"this accountant adds promises for {NeighboringRelation(standing.relation)!r}, at most "
                f"{fixed[1]} row(s) per person; requested {asked.relation!r}, {wanted[1]} row(s): "
                "use the same setting or one accountant each."
            )
        if self._rule.grants(add_up(standing.total, asked.cost)):
            return
        if asked.cost.delta + standing.total.delta > self._rule.loose:
            raise BudgetExceededError(
                f"requested a loose delta of {short(asked.cost.delta)}; remaining "
                f"{short_rest(self._rule.loose - standing.total.delta)} of {short(self._rule.loose)}: such a "
                "part of delta is set aside when a budget is made (dpforest budget create --loose-delta, "
                "BudgetAccountant(..., loose_delta=...))."
            )
        if not self._rule.delta and not asked.cost.is_pure:
            raise BudgetExceededError(
                f"requested {_in_words(asked)}; this budget has delta = 0 and pays for nothing with a delta. "
                "Ask with delta = 0, or of a budget that was made with one (dpforest budget create --delta "
                "1e-6, BudgetAccountant(epsilon, delta=1e-6)): a ceiling cannot be raised later."
            )
        epsilon, delta = self._rule.rest(standing.total)
        hint = "" if delta or asked.cost.is_pure or not epsilon else " only plans with delta = 0 still fit,"
        raise BudgetExceededError(
            f"requested {_in_words(asked)}; remaining epsilon = {short_rest(epsilon)}, "
            f"delta = {short_rest(delta)}; "
            f"ceiling epsilon = {short(self._rule.epsilon)}, delta = {short(self._rule.delta)}:{hint} "
            "ask for less per fit or fit less often (every fold and every candidate is a fit); "
            "spending is never undone."
        )

    def __len__(self) -> int:
        return self._store.count_charges()

    def __bool__(self) -> bool:
        return True  # an accountant nobody has used yet is still an accountant

    def __enter__(self) -> BudgetAccountant:
        enter(self)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        leave(self)

    def __sklearn_clone__(self) -> BudgetAccountant:
        return self

    def __copy__(self) -> BudgetAccountant:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> BudgetAccountant:
        return self

    def __reduce__(self) -> tuple[Any, tuple[BudgetStore, Notes]]:
        return _attach, (self._store, self._notebook.current().copied())

    def __repr__(self) -> str:
        if self._store.address is None:
            return f"BudgetAccountant(epsilon={self.epsilon!r}, delta={self.delta!r})"
        return f"BudgetAccountant.open({self._store.address!r}, dataset={self.dataset.name!r})"


def accountants_here() -> tuple[BudgetAccountant, ...]:
    """Return every accountant of this process that is still in use."""
    return tuple(_by_identity.values())


def _attach(store: BudgetStore, notes: Notes | None = None) -> BudgetAccountant:
    """Return this process's accountant for a store, made on first use."""
    known = _by_identity.get(store.identity)
    if known is not None:
        known._store.remember(store.seen)
        if notes is not None and known._travelled:  # a worker that is used again
            known._notebook.outside = notes
        return known
    accountant = BudgetAccountant.__new__(BudgetAccountant)
    accountant._join(store)
    if notes is not None:
        accountant._notebook, accountant._travelled = Notebook(notes), True
    return accountant


def _as_request(
    request: BudgetPlan | Cost,
    label: str,
    relation: NeighboringRelation | None,
    max_rows_per_person: int | None,
) -> Request:
    if isinstance(request, BudgetPlan):
        if relation is not None or max_rows_per_person is not None:
            raise TypeError("a plan states its own relation and rows per person: leave them out.")
        return Request(request.cost, request.relation, request.max_rows_per_person, label, request)
    if not isinstance(request, Cost):
        raise TypeError(f"spend a BudgetPlan or a Cost, got {type(request).__name__}: write Cost.pure(0.5).")
    rows = (
        1
        if max_rows_per_person is None
        else read_positive_integer(max_rows_per_person, "max_rows_per_person")
    )
    return Request(request, relation or NeighboringRelation.ADD_OR_REMOVE_ONE, rows, label)


def _in_words(asked: Request) -> str:
    if asked.plan is not None:
        return f"epsilon = {short(asked.plan.epsilon)}, delta = {short(asked.plan.delta)}"
    loose = f", delta = {short(asked.cost.delta)}" if asked.cost.delta else ""
    if asked.cost.epsilon is not None:
        return f"epsilon = {short(asked.cost.epsilon)}{loose}"
    return f"rho = {short(asked.cost.rho)}{loose}"
