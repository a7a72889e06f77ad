"""Public facts and raw rows, in the form in which the papers' algorithms take them.

The rest of the library counts rows on an integer grid. The papers work on floating-point values, so this
module reads the same schema and the same tables into plain matrices of doubles. All other modules of the room
take a `Domain` and such a matrix; nothing but this module knows schemas or data frames.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpforest._arrays import FloatArray, IntArray
from dpforest.schema import Classes, Feature, Nominal, Numeric, Range, Schema, SchemaError
from dpforest.schema.columns import Column
from dpforest.schema.encoding import cells_of, numbers_of
from dpforest.schema.tables import read_table, read_vector

__all__ = ["Domain", "domain_of", "labelled_rows", "raw_matrix", "raw_target"]


@dataclass(frozen=True, eq=False)
class Domain:
    """What the papers assume to be public about a table.

    Parameters
    ----------
    low, high : ndarray of shape (d,)
        Range of every numeric feature; for nominal ones 0 and the largest code.
    n_categories : ndarray of int, shape (d,)
        Number of declared categories of a nominal feature, 0 for a numeric one. The papers know neither
        missing nor undeclared values: these have the two codes after the declared ones, no algorithm splits
        them off on purpose, and a test for a category is false for them.
    n_classes : int
        Number of classes, 0 for regression.
    target_low, target_high : float
        Range of a numeric target, NaN for classification.

    Examples
    --------
    >>> from dpforest.schema import Classes, Nominal, Numeric, Schema
    >>> domain_of(Schema({"x": Numeric(0, 9), "c": Nominal(["a", "b"])}, target=Classes([0, 1])))
    Domain(low=array([0., 0.]), high=array([9., 3.]), n_categories=array([0, 2]), n_classes=2,
           target_low=nan, target_high=nan)
    """

    low: FloatArray
    high: FloatArray
    n_categories: IntArray
    n_classes: int = 0
    target_low: float = math.nan
    target_high: float = math.nan

    @property
    def n_features(self) -> int:
        """Number of features."""
        return len(self.low)

    @property
    def nominal(self) -> NDArray[np.bool_]:
        """Whether each feature is nominal."""
        return self.n_categories > 0

    @property
    def n_codes(self) -> int:
        """Number of codes of the nominal feature with most of them, missing and other included."""
        return int(self.n_categories.max(initial=0)) + 2

    @property
    def n_outputs(self) -> int:
        """Number of columns of a forest's votes: one per class, or one prediction."""
        return self.n_classes or 1


def domain_of(schema: Schema) -> Domain:
    """Read the papers' public facts off a schema.

    Parameters
    ----------
    schema : Schema
        A schema with a target.

    Returns
    -------
    Domain
        The facts. Ordinal features are numeric, their values the positions of the levels.
    """
    ranges = [_range_of(feature) for feature in schema.features.values()]
    low, high = (np.array(side, dtype=np.float64) for side in zip(*ranges, strict=True))
    counts = [f.n_known if isinstance(f, Nominal) else 0 for f in schema.features.values()]
    facts = (low, high, np.array(counts, dtype=np.int64))
    if isinstance(schema.target, Classes):
        return Domain(*facts, n_classes=schema.target.n_classes)
    if isinstance(schema.target, Range):
        return Domain(*facts, target_low=schema.target.low, target_high=schema.target.high)
    raise SchemaError("the schema declares no target. Add target=Classes([...]) or target=Range(low, high).")


def raw_matrix(X: Any, schema: Schema) -> FloatArray:
    """Read a table into a matrix of doubles.

    Numeric values are clipped to the declared range; missing ones and whatever is not a number become the
    middle of the range, since the papers say nothing about them. Ordinal values are positions of levels,
    treated alike. Nominal values are codes, with the two after the declared ones for missing and other.

    Parameters
    ----------
    X : data frame, ndarray or sequence of rows
        The table; frames are matched by column name.
    schema : Schema
        The declared columns.

    Returns
    -------
    ndarray of float64, shape (n, d)
        The rows.

    Examples
    --------
    >>> schema = Schema({"x": Numeric(0, 10), "c": Nominal(["a", "b"])})
    >>> raw_matrix([[2.5, "b"], [99, "?"], [None, None]], schema)
    array([[ 2.5,  1. ],
           [10. ,  3. ],
           [ 5. ,  2. ]])
    """
    columns = read_table(X, schema.names).columns
    raw = np.empty((len(columns[0]), len(columns)))
    for j, (column, feature) in enumerate(zip(columns, schema.features.values(), strict=True)):
        low, high = _range_of(feature)
        if isinstance(feature, Numeric):
            values = _numbers(column)
        else:
            values = cells_of(column.read(0, len(column)), feature).astype(np.float64)
            if not isinstance(feature, Nominal):
                values[values > high] = np.nan
        raw[:, j] = np.clip(np.where(np.isnan(values), (low + high) / 2, values), low, high)
    return raw


def raw_target(y: Any, schema: Schema) -> NDArray[Any]:
    """Read a target: class codes with -1 where unknown, or clipped doubles with NaN where missing.

    Parameters
    ----------
    y : array-like or series of shape (n,)
        The targets.
    schema : Schema
        The schema with its target.

    Returns
    -------
    ndarray of shape (n,)
        Codes of type int64, or float64.

    Examples
    --------
    >>> raw_target([3, 99, None], Schema({"x": Numeric(0, 1)}, target=Range(0, 10)))
    array([ 3., 10., nan])
    """
    if isinstance(schema.target, Range):
        return np.clip(_numbers(read_vector(y)), schema.target.low, schema.target.high)
    return schema.encode_target(y).astype(np.int64)


def labelled_rows(
    X: NDArray[Any], y: NDArray[Any], domain: Domain
) -> tuple[FloatArray, IntArray | FloatArray]:
    """Keep the rows whose target is known: the papers' training sets have no others."""
    X = checked_rows(X, domain)
    if len(X) != len(y):
        raise ValueError(f"X has {len(X)} rows and y has {len(y)}.")
    if domain.n_classes:
        labels = np.asarray(y, dtype=np.int64)
        return X[labels >= 0], labels[labels >= 0]
    targets = np.asarray(y, dtype=np.float64)
    return X[~np.isnan(targets)], targets[~np.isnan(targets)]


def classified_rows(
    X: NDArray[Any], y: NDArray[Any], domain: Domain, what: str
) -> tuple[FloatArray, IntArray]:
    """Keep the rows whose class is known; `what` there is needs classes."""
    demand_classes(domain, what)
    X, labels = labelled_rows(X, y, domain)
    return X, labels.astype(np.int64)


def demand_classes(domain: Domain, what: str) -> None:
    """Refuse regression."""
    if not domain.n_classes:
        raise ValueError(f"{what} are for classification only.")


def checked_rows(X: NDArray[Any], domain: Domain) -> FloatArray:
    """Return a matrix as doubles after a look at its shape."""
    X = np.asarray(X, dtype=np.float64)
    if X.ndim != 2 or X.shape[1] != domain.n_features:
        raise ValueError(f"X must have shape (n, {domain.n_features}), got {X.shape}.")
    return X


def _range_of(feature: Feature) -> tuple[float, float]:
    if isinstance(feature, Numeric):
        return feature.low, feature.high
    return 0.0, float(feature.n_known + 1 if isinstance(feature, Nominal) else feature.n_known - 1)


def _numbers(column: Column) -> FloatArray:
    return numbers_of(column.read(0, len(column)))[0]
