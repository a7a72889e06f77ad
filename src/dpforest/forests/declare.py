"""Settle what is public about a table before any of its rows is used.

The schema comes from the user, as `schema=` or in the short forms `bounds=`, `classes=`, `target_bounds=`.
Reading it off private rows is a leak: refused by default, and with ``on_leak="warn"`` done under a warning
and with the guarantee void.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.utils import assert_all_finite
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d, validate_data

from dpforest.privacy import PrivacyLeakWarning
from dpforest.schema import Classes, Range, Schema
from dpforest.schema.frames import frame_of
from dpforest.schema.places import stream_of
from dpforest.schema.tables import as_array, column_names, is_rows

_HOW_TO_DECLARE = """{name} needs to know what is public about the table before it may look at rows.
Declare {missing}, for example:

    from dpforest.schema import Schema, Numeric, Nominal, {target_kind}
    schema = Schema({{"age": Numeric(18, 100), "ward": Nominal(["A", "B"])}}, target={target_example})
    {name}(epsilon=1.0, schema=schema)

or, for numeric tables, the short form {short}.
on_leak="warn" reads the domain off the private rows instead; the guarantee is then void."""


def undeclared(estimator: Any, task: str) -> list[str]:
    """Tell what the parameters leave undeclared: ``"bounds"``, ``"target"``, both or nothing.

    Parameters
    ----------
    estimator : estimator
        Carries `schema`, `bounds`, `classes` or `target_bounds`.
    task : {"classification", "regression"}
        What the target must be.
    """
    if estimator.schema is not None:
        return []
    target = estimator.classes if task == "classification" else estimator.target_bounds
    return [what for what, given in (("bounds", estimator.bounds), ("target", target)) if given is None]


def declare(estimator: Any, X: Any, y: Any, task: str) -> Schema:
    """Return the schema: as declared, or with ``on_leak="warn"`` read off the rows under a warning.

    Parameters
    ----------
    estimator : estimator
        Carries `schema`, `bounds`, `classes` or `target_bounds`, and `on_leak`.
    X, y : data
        Used for column names and their number; for values only with ``on_leak="warn"``.
    task : {"classification", "regression"}
        What the target must be.
    """
    if estimator.schema is not None:
        return _check_target(_given_schema(estimator), task, estimator)
    bounds, target, missing = estimator.bounds, _given_target(estimator, task), undeclared(estimator, task)
    if bounds is not None and target is not None:
        return _short_form(X, bounds, target)
    if estimator.on_leak == "raise":
        raise ValueError(_how_to_declare(estimator, task, missing))
    warnings.warn(
        f"{type(estimator).__name__}: the domain of the table was read off its private rows; "
        "the guarantee of this model is void. Declare a schema to make it private.",
        PrivacyLeakWarning,
        stacklevel=4,
    )
    if target is None:
        target = _derived_target(y, task, getattr(estimator, "_unlabelled_code", None))
    schema = _derived_features(X) if bounds is None else _short_form(X, bounds, target, is_void=True)
    return Schema(schema.features, target)


def declared_names(estimator: Any) -> Sequence[str] | None:
    """Return the names of the features, or None if the columns of the table have to tell them."""
    return None if estimator.schema is None else _given_schema(estimator).names


def columns_of(X: Any, schema: Schema) -> dict[str, Any]:
    """Return the attributes in which scikit-learn keeps number and names of columns: public facts alone."""
    names = column_names(X)
    named = {} if names is None else {"feature_names_in_": np.array(names, dtype=object)}
    return {"n_features_in_": schema.n_features, **named}


def check_columns(estimator: Any, X: Any) -> None:
    """Insist on the columns of `fit` in their order, as scikit-learn does, where X tells them."""
    if not is_rows(X) and stream_of(X) is None:
        validate_data(estimator, X, reset=False, skip_check_array=True)


def _given_schema(estimator: Any) -> Schema:
    short = [n for n in ("bounds", "classes", "target_bounds") if getattr(estimator, n, None) is not None]
    if short:
        raise ValueError(f"Give either schema= or {', '.join(short)}, not both.")
    if isinstance(estimator.schema, Schema):
        return estimator.schema
    return Schema.from_dict(estimator.schema)


def _check_target(schema: Schema, task: str, estimator: Any) -> Schema:
    wanted = Classes if task == "classification" else Range
    if not isinstance(schema.target, wanted):
        raise ValueError(
            f"{type(estimator).__name__} needs a schema whose target is {wanted.__name__}(...), "
            f"not {schema.target!r}."
        )
    return schema


def _given_target(estimator: Any, task: str) -> Classes | Range | None:
    if task == "classification":
        return None if estimator.classes is None else Classes(list(estimator.classes))
    return None if estimator.target_bounds is None else Range(*estimator.target_bounds)


def _short_form(X: Any, bounds: Any, target: Classes | Range, is_void: bool = False) -> Schema:
    names = column_names(X)
    if names is not None:
        schema = Schema.from_bounds(bounds, names=names)
    elif is_rows(X) and not is_void:
        # Only its rows, which are private, could tell how wide a list is; so the bounds have to.
        if all(np.ndim(bound) == 0 for bound in bounds):
            raise ValueError(
                "X is a sequence of rows, which declares no number of features. Give bounds with one value "
                "per feature, or a schema, or pass X as an array."
            )
        schema = Schema.from_bounds(bounds)
    else:
        # Labels are counted, and values left alone: numpy may have no type for all of them.
        frame = frame_of(X)
        width = _matrix(X).shape[1] if frame is None else len(frame.labels)
        schema = Schema.from_bounds(bounds, n_features=width)
    return Schema(schema.features, target)


def _how_to_declare(estimator: Any, task: str, missing: list[str]) -> str:
    classify = task == "classification"
    return _HOW_TO_DECLARE.format(
        name=type(estimator).__name__,
        missing=" and ".join({"bounds": "the features", "target": "the target"}[what] for what in missing),
        target_kind="Classes" if classify else "Range",
        target_example='Classes(["home", "died"])' if classify else "Range(0, 500)",
        short="bounds=(0, 1), classes=[0, 1]" if classify else "bounds=(0, 1), target_bounds=(0, 500)",
    )


def _matrix(X: Any) -> Any:
    """Return a table that is not a frame; scikit-learn's own check would print values in its errors."""
    try:
        # numpy would choose one type for all values of a list
        matrix = as_array(np.array(X, dtype=object) if is_rows(X) else X, "X")
    except ValueError:
        raise ValueError("X must have rows of equal length.") from None
    if matrix.ndim != 2:
        raise ValueError(
            f"Expected 2D array, got {matrix.ndim}D array instead. Reshape your data: one row per record."
        )
    return matrix


def _derived_target(y: Any, task: str, unlabelled_code: int | None) -> Classes | Range:
    if y is None:
        raise ValueError("This estimator requires y to be passed, but the target y is None.")
    y = column_or_1d(y, warn=True)
    if unlabelled_code is not None:
        y = y[[label is not None and label != unlabelled_code for label in y]]
    assert_all_finite(y, input_name="y")
    if task == "classification":
        check_classification_targets(y)
        return Classes(list(np.unique(y)))
    y = np.asarray(y, np.float64)
    low, high = (float(y.min()), float(y.max())) if len(y) else (0.0, 1.0)
    return Range(low, high if high > low else low + max(1.0, abs(low)))


def _derived_features(X: Any) -> Schema:
    if column_names(X) is not None:
        return Schema.from_public_frame(X)
    matrix = _matrix(X)
    if 0 in matrix.shape:
        what = "sample" if len(matrix) == 0 else "feature"
        raise ValueError(
            f"Found array with 0 {what}(s) (shape={matrix.shape}) while a minimum of 1 is required."
        )
    if matrix.dtype.kind in "OUS":
        try:
            matrix = matrix.astype(np.float64)
        except (TypeError, ValueError) as error:
            raise ValueError(
                "An array of objects cannot be described from its values; give a data frame or a schema."
            ) from error
    finite = np.where(np.isfinite(matrix), matrix, np.nan)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # columns without a finite value
        low, high = np.nanmin(finite, axis=0), np.nanmax(finite, axis=0)
    low = np.where(np.isnan(low), 0.0, low)
    high = np.where(high > low, high, low + np.maximum(1.0, np.abs(low)))
    return Schema.from_bounds((low, high), n_features=matrix.shape[1])
