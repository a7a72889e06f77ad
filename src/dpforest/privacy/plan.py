"""The division of a budget, fixed before the first look at the data.

An estimator makes a `BudgetPlan` from its public parameters alone; the user can print it without any data;
the accountant is charged the plan's whole cost before the first row is read; the `Ledger` then hands out
each pool and refuses more. Amounts are per row (one step of the mechanisms, see `row_multiplier`), the
promise is per person.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, Literal

from dpforest.privacy.composition import Cost, row_multiplier
from dpforest.privacy.conversion import epsilon_to_rho
from dpforest.privacy.exact import (
    Number,
    check_addable,
    float_at_least,
    read_delta,
    read_epsilon,
    read_fraction,
    read_number,
    read_positive_integer,
    short,
)
from dpforest.privacy.guarantee import PrivacyGuarantee
from dpforest.privacy.relation import ONE_ROW_PER_PERSON, NeighboringRelation
from dpforest.privacy.tables import data_frame, html_table, text_table

ALL_ROWS = "all rows"
TRAINING_ROWS, HELD_OUT_ROWS = "training rows", "held-out rows"
"""The two parts of a table in a search for the best of several models."""


@dataclass(frozen=True)
class Pool:
    """A named share of the budget.

    Parameters
    ----------
    name : str
        What the ledger is charged under.
    share : number
        Part of the whole, 0 to 1; a float is read by its decimal text.
    purpose : str
        What it buys, for the reader of the plan.
    rows : str
        Which part of the table is looked at. Parts other than ``"all rows"`` must be disjoint from each
        other, each row's part decided by the row alone or by its own independent coin.

    Examples
    --------
    >>> Pool("leaves", 0.5, "count labels").share
    Fraction(1, 2)
    """

    name: str
    share: Fraction
    purpose: str = ""
    rows: str = ALL_ROWS

    def __post_init__(self) -> None:
        share = read_number(self.share, f"share of pool {self.name!r}")
        if share < 0:
            raise ValueError(f"share of pool {self.name!r} must be zero or more, got {self.share}.")
        object.__setattr__(self, "share", share)


@dataclass(frozen=True)
class BudgetPlan:
    """A promise and how it is divided among pools; made by `BudgetPlan.divide`.

    Pools on ``"all rows"`` compose in sequence with everything. Pools on different parts of the table
    compose in parallel, because a row lies in one part only and all other parts look the same on both
    neighbours: the costliest part counts. This holds in both currencies.

    Parameters
    ----------
    epsilon, delta : Fraction
        The promise, per person. With ``delta == 0`` the plan counts pure epsilons, otherwise rho of zCDP.
    relation : NeighboringRelation
        Which tables count as neighbours.
    max_rows_per_person : int
        How many rows one person holds at most.
    pools : tuple of Pool
        In the order they will be used.
    loose_delta : Fraction
        The part of delta that single queries may take for themselves (see `Cost`); amounts are counted in
        pure epsilon if that is all of it, and rho is what the rest of delta allows.

    Attributes
    ----------
    total : Fraction
        What may be spent on one row: epsilon divided by `row_multiplier`, or rho divided by its square.

    Examples
    --------
    >>> plan = BudgetPlan.divide(1.0, 0.0, {"splits": 0.6, "leaves": 0.4})
    >>> plan.amount("leaves")
    Fraction(2, 5)
    >>> print(plan)
    pool    purpose  rows      share  epsilon
    splits           all rows    60%      0.6
    leaves           all rows    40%      0.4
    total                       100%        1
    epsilon = 1, delta = 0 for adding or removing one row (1 row per person)
    """

    epsilon: Fraction
    delta: Fraction
    relation: NeighboringRelation
    max_rows_per_person: int
    pools: tuple[Pool, ...]
    total: Fraction = field(init=False)
    loose_delta: Fraction = Fraction(0)

    @classmethod
    def divide(
        cls,
        epsilon: Number,
        delta: Number,
        shares: Mapping[str, Number] | Iterable[Pool],
        relation: NeighboringRelation = NeighboringRelation.ADD_OR_REMOVE_ONE,
        max_rows_per_person: int = 1,
        loose_delta: Number = 0,
    ) -> BudgetPlan:
        """Divide a budget.

        Parameters
        ----------
        epsilon, delta : number
            The promise; floats are read by their decimal text.
        shares : mapping of name to share, or iterable of Pool
            Shares of all-rows pools plus those of the costliest part may sum to at most 1. A pool with
            share 0 is left out.
        relation : NeighboringRelation
            Which tables count as neighbours.
        max_rows_per_person : int
            How many rows one person holds at most.
        loose_delta : number
            The part of delta that single queries may take for themselves.
        """
        if isinstance(shares, Mapping):
            pools = tuple(
                Pool(name, read_number(share, f"share of pool {name!r}")) for name, share in shares.items()
            )
        else:
            pools = tuple(shares)
        kept = tuple(pool for pool in pools if pool.share)
        return cls(
            read_epsilon(epsilon),
            read_delta(delta),
            relation,
            read_positive_integer(max_rows_per_person, "max_rows_per_person"),
            kept,
            read_delta(loose_delta),
        )

    def __post_init__(self) -> None:
        if not (isinstance(self.epsilon, Fraction) and isinstance(self.delta, Fraction)):
            raise TypeError(
                "a plan holds exact fractions: make it with BudgetPlan.divide, which reads floats."
            )
        if not isinstance(self.relation, NeighboringRelation):
            raise TypeError(
                f"relation must be a NeighboringRelation, got {type(self.relation).__name__}: "
                "use for example NeighboringRelation.ADD_OR_REMOVE_ONE."
            )
        names = [pool.name for pool in self.pools]
        if not names or len(set(names)) < len(names):
            raise ValueError(f"a plan needs at least one pool and distinct names, got {names}.")
        used = self.compose({pool.name: pool.share for pool in self.pools})
        if used > 1:
            raise ValueError(
                f"the shares exceed the budget by {short(used - 1)} of the whole: lower them until all-rows "
                "pools plus the costliest part sum to at most 1 (for exact thirds give Fraction(1, 3))."
            )
        multiplier = row_multiplier(self.relation, self.max_rows_per_person)
        if not 0 <= self.loose_delta <= self.delta:
            raise ValueError("the loose delta of a plan is a part of its delta.")
        if self.currency == "pure":
            total = self.epsilon / multiplier
        else:
            total = epsilon_to_rho(self.epsilon, self.delta - self.loose_delta) / multiplier**2
        object.__setattr__(self, "total", total)

    @property
    def currency(self) -> Literal["pure", "zcdp"]:
        """What amounts are counted in: pure epsilon or rho of zCDP."""
        return "zcdp" if self.delta > self.loose_delta else "pure"

    @property
    def symbol(self) -> Literal["epsilon", "rho"]:
        """The letter of the currency."""
        return "rho" if self.currency == "zcdp" else "epsilon"

    @property
    def cost(self) -> Cost:
        """What an accountant is charged: the whole promise, per person, whether or not it is all used."""
        if self.currency == "pure":
            return Cost.pure(self.epsilon, self.loose_delta)
        rho = self.total * row_multiplier(self.relation, self.max_rows_per_person) ** 2
        return Cost.zcdp(rho, self.loose_delta)

    @property
    def guarantee(self) -> PrivacyGuarantee:
        """The promise as it will be printed on the model."""
        rows = self.max_rows_per_person
        return PrivacyGuarantee(
            float_at_least(self.epsilon),
            float_at_least(self.delta),
            self.relation,
            ONE_ROW_PER_PERSON if rows == 1 else f"at most {rows} rows per person",
        )

    def __contains__(self, name: object) -> bool:
        return any(pool.name == name for pool in self.pools)

    def pool(self, name: str) -> Pool:
        """Return a pool by name.

        Parameters
        ----------
        name : str
            Its name; a pool whose share was 0 is not in the plan (ask ``name in plan``).
        """
        for pool in self.pools:
            if pool.name == name:
                return pool
        raise KeyError(f"no pool {name!r} in this plan; it has {[pool.name for pool in self.pools]}.")

    def amount(self, name: str) -> Fraction:
        """Return what a pool holds: epsilon or rho, per row.

        Parameters
        ----------
        name : str
            The pool.
        """
        return self.pool(name).share * self.total

    def compose(self, by_pool: Mapping[str, Fraction]) -> Fraction:
        """Add up amounts per pool: all-rows pools in sequence, the parts of the table in parallel.

        Parameters
        ----------
        by_pool : mapping of pool name to Fraction
            Shares, amounts or spendings; pools left out count zero.

        Examples
        --------
        >>> pools = Pool("a", 0.5), Pool("b", 0.5, rows="odd"), Pool("c", 0.3, rows="even")
        >>> plan = BudgetPlan.divide(1, 0, pools)
        >>> plan.compose({"a": Fraction(1), "b": Fraction(2), "c": Fraction(3)})
        Fraction(4, 1)
        """
        by_rows: dict[str, Fraction] = {}
        for pool in self.pools:
            by_rows[pool.rows] = by_rows.get(pool.rows, Fraction(0)) + by_pool.get(pool.name, Fraction(0))
        everywhere = by_rows.pop(ALL_ROWS, Fraction(0))
        return everywhere + max(by_rows.values(), default=Fraction(0))

    def outline(self) -> BudgetPlan:
        """Return the plan with all pools for the training rows of a search as one.

        That is what a search is charged: it does not know yet how its winner divides what a run gets.

        Examples
        --------
        >>> pools = Pool("splits", 0.3, rows=TRAINING_ROWS), Pool("leaves", 0.2, rows=TRAINING_ROWS)
        >>> plan = BudgetPlan.divide(1, 0, [*pools, Pool("choice", 0.5)])
        >>> [(pool.name, float(pool.share)) for pool in plan.outline().pools]
        [('training', 0.5), ('choice', 0.5)]
        """
        inside = [pool for pool in self.pools if pool.rows == TRAINING_ROWS]
        if not inside:
            return self
        whole = Pool("training", sum((p.share for p in inside), Fraction(0)), "one run", TRAINING_ROWS)
        outside = tuple(pool for pool in self.pools if pool.rows != TRAINING_ROWS)
        return replace(self, pools=(whole, *outside))

    def to_records(self) -> list[dict[str, str | float]]:
        """Return one dictionary per pool, JSON-ready."""
        return [
            {
                "pool": pool.name,
                "purpose": pool.purpose,
                "rows": pool.rows,
                "share": float(pool.share),
                self.symbol: float_at_least(self.amount(pool.name)),
            }
            for pool in self.pools
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-ready record of the whole plan, exact: numbers are written as fractions.

        Examples
        --------
        >>> plan = BudgetPlan.divide(0.5, 0.0, {"leaves": 1})
        >>> plan.to_dict()["epsilon"], BudgetPlan.from_dict(plan.to_dict()) == plan
        ('1/2', True)
        """
        return {
            "epsilon": str(self.epsilon),
            "delta": str(self.delta),
            "relation": self.relation.value,
            "max_rows_per_person": self.max_rows_per_person,
            **({"loose_delta": str(self.loose_delta)} if self.loose_delta else {}),
            "pools": [
                {"name": pool.name, "share": str(pool.share), "purpose": pool.purpose, "rows": pool.rows}
                for pool in self.pools
            ],
        }

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> BudgetPlan:
        """Rebuild what `to_dict` wrote; everything is checked again.

        Parameters
        ----------
        record : mapping
            The dictionary.
        """
        pools = [
            Pool(
                str(pool["name"]),
                read_fraction(pool["share"], "share"),
                str(pool["purpose"]),
                str(pool["rows"]),
            )
            for pool in record["pools"]
        ]
        check_addable((pool.share for pool in pools), "shares")
        return cls(
            read_epsilon(read_fraction(record["epsilon"], "epsilon")),
            read_delta(read_fraction(record["delta"], "delta")),
            NeighboringRelation(record["relation"]),
            read_positive_integer(record["max_rows_per_person"], "max_rows_per_person"),
            tuple(pools),
            read_delta(read_fraction(record.get("loose_delta", "0"), "loose_delta")),
        )

    def to_frame(self) -> Any:
        """Return the pools as a pandas DataFrame; pandas must be installed."""
        return data_frame(self.to_records(), self._header())

    def __str__(self) -> str:
        table = text_table(self._header(), self._rows(), frozenset({"share", self.symbol}))
        return "\n".join([table, *self._notes(), str(self.guarantee)])

    def _repr_html_(self) -> str:
        return html_table(self._header(), self._rows(), ". ".join([*self._notes(), str(self.guarantee)]))

    def _header(self) -> list[str]:
        return ["pool", "purpose", "rows", "share", self.symbol]

    def _rows(self) -> Sequence[Sequence[str]]:
        lines = [
            [pool.name, pool.purpose, pool.rows, _percent(pool.share), short(self.amount(pool.name))]
            for pool in self.pools
        ]
        used = self.compose({pool.name: pool.share for pool in self.pools})
        return [*lines, ["total", "", "", _percent(used), short(used * self.total)]]

    def _notes(self) -> list[str]:
        notes = []
        if any(pool.rows != ALL_ROWS for pool in self.pools):
            notes.append("parts of the table are disjoint: the total counts the costliest part only")
        multiplier = row_multiplier(self.relation, self.max_rows_per_person)
        if multiplier > 1:
            factor = multiplier if self.currency == "pure" else multiplier**2
            label_only = self.relation is NeighboringRelation.LABEL_CHANGE
            step = "label changed" if label_only else "row added or removed"
            notes.append(f"{self.symbol} is per {step}; one person costs {factor} times as much")
        return notes


def _percent(share: Fraction) -> str:
    return f"{float(100 * share):.6g}%"
