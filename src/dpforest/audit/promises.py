"""What is audited promises: epsilon and delta, whom one person's change concerns, and the public domain.

Read off the object itself where the caller does not say; used by all auditors.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dpforest.audit.pairs import NeighbourPair, presets
from dpforest.forests.base import PrivateForest
from dpforest.privacy import NeighboringRelation
from dpforest.schema import Classes, Range, Schema


def claim_of(subject: Any, claim: float | None, delta: float | None) -> tuple[float, float]:
    """Return epsilon and delta of the promise, from the estimator where they are not given."""
    if claim is None:
        claim = getattr(subject, "epsilon", None)
    if claim is None:
        raise ValueError("What is promised? Give claim=epsilon (claim=float('inf') if nothing is promised).")
    return float(claim), float(getattr(subject, "delta", 0.0) if delta is None else delta)


def relation_of(subject: Any) -> NeighboringRelation:
    """Return what one person may change; other libraries promise for adding or removing a row."""
    if isinstance(subject, PrivateForest):
        return subject.privacy_plan().relation
    return NeighboringRelation.ADD_OR_REMOVE_ONE


def pairs_for(
    subject: Any,
    pair: NeighbourPair | Sequence[NeighbourPair] | tuple[Any, Any] | str | None,
    schema: Schema | None,
) -> list[NeighbourPair]:
    """Take the pairs that were given, or make them from the declared domain."""
    if isinstance(pair, NeighbourPair):
        return [pair]
    if isinstance(pair, tuple):
        return [NeighbourPair.of(*pair)]
    if isinstance(pair, list):
        return pair
    made = presets(
        schema or declared_schema(subject),
        relation_of(subject),
        rows_per_person=getattr(subject, "max_rows_per_person", 1),
        labelled_and_not=getattr(subject, "persons_in_both", False),
        unknown_values=isinstance(subject, PrivateForest),
    )
    if pair is None:
        return made
    chosen = [candidate for candidate in made if candidate.name == pair]
    if not chosen:
        raise ValueError(f"There is no preset {pair!r} here; there are {[made.name for made in made]}.")
    return chosen


def declared_schema(subject: Any) -> Schema:
    """Return the domain that an estimator declares, as `schema`, or as `bounds` with classes or a range.

    Parameters
    ----------
    subject : estimator
        Of this library, or of another one that uses the same parameters.

    Returns
    -------
    Schema
        With one feature where scalar bounds leave their number open.
    """
    schema = getattr(subject, "schema", None)
    if schema is not None:
        return schema if isinstance(schema, Schema) else Schema.from_dict(schema)
    bounds: Any = getattr(subject, "bounds", None)
    classes: Any = getattr(subject, "classes", None)
    target: Any = getattr(subject, "target_bounds", None)
    if bounds is None or (target is None and classes is None):
        raise ValueError(
            "The tables to try are made from the declared domain, and there is none here: give pair=((X, y), "
            "(X, y)), or schema=Schema(...)."
        )
    features = Schema.from_bounds(bounds, n_features=max(np.size(bounds[0]), np.size(bounds[1]))).features
    return Schema(features, Classes(list(classes)) if target is None else Range(*target))
