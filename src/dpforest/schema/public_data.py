"""Short ways to a schema: from bounds, and from a data frame that is public itself.

`Schema.from_bounds` and `Schema.from_public_frame` call these functions. The second one is the only place in
the library where a domain is read off values, and its caller vouches that the values are public.
"""

import math
import sys
from collections.abc import Sequence
from typing import Any, Literal

import narwhals as nw
import numpy as np

from dpforest.schema.declaration import whole_number
from dpforest.schema.encoding import numbers_of
from dpforest.schema.errors import SchemaError
from dpforest.schema.features import Feature, Nominal, Numeric
from dpforest.schema.frames import series_of
from dpforest.schema.target import Classes, Range, Target

__all__ = ["Task", "declare_bounds", "read_public_frame"]

Task = Literal["classification", "regression"]


def declare_bounds(
    bounds: Any, n_features: int | None, names: Sequence[str] | None, bins: int
) -> dict[str, Numeric]:
    """Turn `(low, high)`, each a scalar or one value per feature, into numeric features."""
    if not isinstance(bounds, Sequence | np.ndarray) or isinstance(bounds, str) or len(bounds) != 2:
        raise SchemaError("bounds must be a pair (low, high) of scalars or of one value per feature.")
    low, high = (np.asarray(bound) for bound in bounds)
    sizes = {bound.size for bound in (low, high) if bound.ndim == 1}
    sizes |= {len(names)} if names is not None else set()
    sizes |= {whole_number("n_features", n_features, 1, sys.maxsize)} if n_features is not None else set()
    if len(sizes) != 1 or max(low.ndim, high.ndim) > 1:
        raise SchemaError(
            "bounds, names and n_features must agree on the number of features, and one must tell it; "
            f"got {sorted(sizes)}."
        )
    (size,) = sizes
    names = [f"x{j}" for j in range(size)] if names is None else names
    lows, highs = np.broadcast_to(low, size).tolist(), np.broadcast_to(high, size).tolist()
    features: dict[str, Numeric] = {}
    for name, left, right in zip(names, lows, highs, strict=True):
        if name in features:
            raise SchemaError(f"feature {name!r} is named twice.")
        try:
            features[name] = Numeric(left, right, bins=bins)
        except SchemaError as error:
            raise SchemaError(f"feature {name!r}: {error}") from None
    return features


def read_public_frame(
    frame: Any, target: str | None, task: Task | None, bins: int
) -> tuple[dict[str, Feature], Target | None]:
    """Read domains off a public data frame; see `Schema.from_public_frame`."""
    table = _frame(frame)
    if task not in (None, "classification", "regression"):
        raise SchemaError(f"task must be 'classification', 'regression' or None, got {task!r}.")
    if target is not None and target not in table.columns:
        raise SchemaError(f"the frame has no column {target!r} for the target.")
    features = {
        str(name): _public_feature(name, table.get_column(name), bins)
        for name in table.columns
        if name != target
    }
    if target is None:
        return features, None
    return features, _public_target(target, table.get_column(target), task)


def _frame(frame: Any) -> nw.DataFrame[Any]:
    arrow = sys.modules.get("pyarrow")
    if arrow is not None and isinstance(frame, arrow.RecordBatch):
        frame = arrow.Table.from_batches([frame])
    try:
        table = nw.from_native(frame, pass_through=True)
    except nw.exceptions.DuplicateError:
        raise SchemaError("The table has several columns of the same name. Rename or drop them.") from None
    if not isinstance(table, nw.DataFrame):
        raise SchemaError(f"from_public_frame needs a data frame, got {type(frame).__name__}.")
    return table


def _public_feature(name: str, series: nw.Series[Any], bins: int) -> Feature:
    try:
        if series.dtype.is_numeric() or series.dtype.is_temporal():
            low, high = _bounds(series)
            if low == high:  # a constant column still needs a grid
                high = low + max(1.0, math.ceil(abs(low) / 1000))
            return Numeric(low, high, integer=series.dtype.is_integer(), bins=bins)
        return Nominal(_levels(series))
    except SchemaError as error:
        raise SchemaError(f"column {name!r}: {error} Declare this column by hand.") from None


def _public_target(name: str, series: nw.Series[Any], task: Task | None) -> Target:
    regression = task == "regression" or (task is None and series.dtype.is_float())
    try:
        return Range(*_bounds(series)) if regression else Classes(_levels(series))
    except SchemaError as error:
        raise SchemaError(f"target {name!r}: {error} Declare the target by hand.") from None


def _bounds(series: nw.Series[Any]) -> tuple[float, float]:
    column = series_of(series)
    assert column is not None
    numbers, _ = numbers_of(column.read(0, len(column)))
    numbers = numbers[np.isfinite(numbers)]
    if numbers.size == 0:
        raise SchemaError("it holds no finite number.")
    return float(numbers.min()), float(numbers.max())


def _levels(series: nw.Series[Any]) -> list[Any]:
    if series.dtype == nw.Boolean:
        return [False, True]
    # pandas declares the categories of a column with the column; polars does so for an Enum only.
    declared = getattr(getattr(series.to_native(), "cat", None), "categories", None)
    if declared is not None:
        return list(declared)
    if isinstance(series.dtype, nw.Enum):
        return list(series.dtype.categories)
    if series.dtype in (nw.String, nw.Categorical) or series.dtype.is_numeric():
        return sorted(series.drop_nulls().unique().to_list())
    raise SchemaError(f"its type {series.dtype} cannot be read as categories.")
