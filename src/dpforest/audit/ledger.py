"""The ledger's auditor: compare what was charged with what the mechanisms were run at.

The other auditors look at outputs; this one stands beside the till. During one fit it notes, for every query
of the curator, what the ledger was charged and at which rate each mechanism ran, and adds the rates up again
with sensitivities of its own. It finds a charge that was forgotten, which no output shows while the budget
lasts, and noise that is less than was paid for. It is a white box: it knows the curator and the mechanisms of
this library.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from dpforest import mechanisms
from dpforest._curator import Curator, EstimateQueries, FitQueries, GradientQueries, SumQueries, fitting_unit
from dpforest.audit.fitting import Subject
from dpforest.audit.pairs import random_rows
from dpforest.audit.promises import declared_schema
from dpforest.audit.result import AuditResult
from dpforest.privacy import Event, Ledger, NeighboringRelation
from dpforest.schema import Classes, Schema

N_ROWS = 40


def audit_ledger(estimator: Any, *, name: str | None = None, random_state: int | None = None) -> AuditResult:
    """Fit once on random rows and compare the ledger with the mechanisms that ran.

    Parameters
    ----------
    estimator : estimator of this library
        Unfitted, with a declared domain.
    name : str, optional
        How the result calls it.
    random_state : int, optional
        Makes the fit repeatable.

    Returns
    -------
    AuditResult
        `claim` is what the ledger was charged per row, `loss` what the mechanisms cost: epsilon, or with
        delta > 0 rho of zero-concentrated privacy.

    Examples
    --------
    >>> from dpforest import RandomDecisionTreesClassifier
    >>> from dpforest.audit import audit_ledger
    >>> model = RandomDecisionTreesClassifier(3, bounds=(0, 1), classes=[0, 1], max_depth=2)
    >>> result = audit_ledger(model, random_state=0)
    >>> round(result.claim, 6), round(result.loss, 6), result.violation
    (1.0, 1.0, False)
    """
    schema = declared_schema(estimator)
    X, y, _ = random_rows(schema, N_ROWS, np.random.default_rng(random_state))
    with _metered() as looks:
        model = Subject(estimator, lambda *_: 0.0, random_state).output(X, y, 0, 0, 0)
    ledger: Ledger = model.ledger_
    pure = ledger.plan.currency == "pure"
    spent = {pool.name: Fraction(0) for pool in ledger.plan.pools}
    unpaid = Fraction(0)
    worst: tuple[Fraction, str] = (Fraction(-1), "no query")
    for look in (look for look in looks if look.mechanisms):
        cost = look.cost(schema, ledger.plan.relation, pure)
        if look.charge is None:
            unpaid += cost
        else:
            spent[look.charge.pool] += cost
        paid = Fraction(0) if look.charge is None else look.charge.cost
        if cost - paid > worst[0]:
            worst = cost - paid, f"{look.query}: charged {float(paid):.4g}, ran at {float(cost):.4g}"
    return AuditResult(
        name or type(estimator).__name__,
        claim=float(ledger.total()),
        loss=float(ledger.plan.compose(spent) + unpaid),
        how="exact",
        confidence=1.0,
        pair=f"{N_ROWS} random rows, and one of them less",
        event=worst[1],
        runs=1,
        note="what the ledger was charged, and what the mechanisms cost"
        + ("" if pure else ", in rho of zero-concentrated privacy"),
    )


@dataclass
class _Look:
    """One query of the curator: what it was charged, and the mechanisms that it ran."""

    query: str
    moves: tuple[int, int] | None = None  # how far a step moves what is asked: L1 norm, squared L2 norm
    charge: Event | None = None
    mechanisms: list[tuple[str, Fraction]] = field(default_factory=list)

    def cost(self, schema: Schema, relation: NeighboringRelation, pure: bool) -> Fraction:
        """Return the cost of the dearest mechanism: those of one query see disjoint rows."""
        costs = [_cost(kind, strength, self, schema, relation, pure) for kind, strength in self.mechanisms]
        return self.public_number("trees_per_row") * max(costs, default=Fraction(0))

    def public_number(self, name: str) -> int:
        """Read a whole number off the charge; 1 if it is not there."""
        return 1 if self.charge is None else int(str(self.charge.parameters.get(name, 1)))


def _cost(
    kind: str, strength: Fraction, look: _Look, schema: Schema, relation: NeighboringRelation, pure: bool
) -> Fraction:
    """Return the cost of one mechanism for the rows of one node."""
    if kind == "perturbed_minimum":  # strength is what all of it costs; sold in pure epsilon only
        return strength
    moves, squared = look.moves or _moves(look.query, schema, relation)
    if kind == "discrete_gaussian":  # strength is the variance
        return squared / (2 * strength)
    if kind in ("discrete_laplace", "block_norm"):
        epsilon = strength * moves
    else:
        epsilon = strength * look.public_number("score_range")
    if pure:
        return epsilon
    has_bounded_range = kind in ("exponential", "nested_exponential", "nested_or_rival", "named_exponential")
    return epsilon**2 / (8 if has_bounded_range else 2)


def _moves(query: str, schema: Schema, relation: NeighboringRelation) -> tuple[int, int]:
    """Return how far one step moves a table of counts, L1 norm and squared L2 norm; 1 where not known."""
    if query == "leaf_soft_histograms":
        return schema.range.levels, schema.range.levels**2
    if query == "class_counts" and relation is NeighboringRelation.LABEL_CHANGE:
        return 2, 2
    if query == "leaf_histograms" and relation is NeighboringRelation.LABEL_CHANGE:
        two = isinstance(schema.target, Classes) and schema.target.n_classes == 2
        return (1, 1) if two else (2, 2)  # two classes share one noisy count
    return 1, 1


def _moves_of_arguments(query: str, curator: Curator, args: tuple[Any, ...]) -> tuple[int, int] | None:
    """Return the same for queries whose arguments say what a row adds."""
    schema = curator.schema
    if query in vars(GradientQueries):
        squared = _gradient_moves(query, curator, args)
        return squared, squared  # sold under zCDP only, where the first is not asked for
    if query in ("lookup_sums", "product_sums"):
        largest = [int(np.abs(block.values).sum(axis=1).max()) for block in args[3]]
        if query == "lookup_sums":  # the norm of the noise looks at the largest block alone
            return max(largest), sum(most**2 for most in largest)
        pairs = [one * other for at, one in enumerate(largest) for other in largest[at:]]
        return max(pairs), sum(most**2 for most in pairs)
    if query == "group_counts":  # one group of every column
        return len(args[3]), len(args[3])
    if query == "scored_sums":  # two numbers with this sum
        return args[4], args[4] ** 2
    if query == "label_sums":
        weights = np.abs(args[1].astype(np.int64))
        sides = 1 if schema.classes.n_classes == 2 else 2  # a label leaves one class and enters another
        return sides * int(weights.sum(axis=1).max()), sides * int((weights**2).sum(axis=1).max())
    return None


def _gradient_moves(query: str, curator: Curator, args: tuple[Any, ...]) -> int:
    """Return the squared L2 norm by which one row moves a sum that has to do with gradients."""
    if query == "marginals":
        return curator.schema.n_features
    if query in ("target_total", "step_length", "node_sums"):
        tenths = {"target_total": 0, "step_length": 7, "node_sums": 5}[query]  # of the unit, beside it
        unit = curator._scores.unit
        return unit**2 + (tenths * unit // 10) ** 2
    if query in ("gradient_sums", "feature_products"):
        pool, share, _, longest = args[:4]
        rho = float(curator.ledger.plan.amount(pool) * share)
        if query == "gradient_sums":
            unit = curator._scores.unit
            one = fitting_unit(unit * longest**0.5, rho, 64)
            return unit**2 * int(longest * one**2)
        ones = (one for one in (64, 32, 16, 8, 4) if fitting_unit(5 * longest, rho, one**2) == one**2)
        return 25 * int(longest * next(ones, 2) ** 2) ** 2
    return 1


# where each mechanism takes its strength: position of the argument, and how to read it
_STRENGTH: dict[str, tuple[int | slice, Callable[[Any], Fraction]]] = {
    "discrete_laplace": (1, lambda rate: rate.value),
    "discrete_gaussian": (1, mechanisms.discrete_gaussian_parameter),
    "block_norm": (2, lambda rate: rate.value),
    "exponential": (2, lambda rate: rate.value),
    "nested_exponential": (3, lambda rate: rate.value / mechanisms.NESTED_UNIT),
    "nested_or_rival": (3, lambda rate: rate.value / mechanisms.NESTED_UNIT),
    "named_exponential": (3, lambda rate: rate.value / mechanisms.NESTED_UNIT),
    "permute_and_flip": (1, lambda rate: rate.value),
    "perturbed_minimum": (slice(2), lambda public: mechanisms.perturbed_cost(*public)),
}


@contextmanager
def _metered() -> Iterator[list[_Look]]:
    """Watch the curator's queries, the ledger and the mechanisms for a while."""
    looks: list[_Look] = []
    replaced: list[tuple[Any, str, Any]] = []

    def replace(owner: Any, name: str, new: Any) -> None:
        replaced.append((owner, name, getattr(owner, name)))
        setattr(owner, name, new)

    def watched_query(query: str, method: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(method)
        def run(curator: Curator, *args: Any, **options: Any) -> Any:
            look = _Look(query, _moves_of_arguments(query, curator, args))
            charged = len(curator.ledger)
            looks.append(look)
            answer = method(curator, *args, **options)
            if len(curator.ledger) > charged:
                look.charge = curator.ledger.events[-1]
            return answer

        return run

    def watched_mechanism(kind: str, mechanism: Callable[..., Any]) -> Callable[..., Any]:
        at, read = _STRENGTH[kind]

        @functools.wraps(mechanism)
        def run(*args: Any, **options: Any) -> Any:
            if looks:
                looks[-1].mechanisms.append((kind, read(args[at])))
            return mechanism(*args, **options)

        return run

    try:
        for owner in (Curator, SumQueries, FitQueries, GradientQueries, EstimateQueries):
            for query, method in list(vars(owner).items()):
                # public_... read features that are public under label privacy, static ones no rows at all
                is_query = callable(method) and not isinstance(method, staticmethod)
                if is_query and not query.startswith(("_", "public_")):
                    replace(owner, query, watched_query(query, method))
        for kind in _STRENGTH:
            replace(mechanisms, kind, watched_mechanism(kind, getattr(mechanisms, kind)))
        yield looks
    finally:
        for owner, name, old in replaced:
            setattr(owner, name, old)
