"""What is measured on a fitted model: one number per fit.

`jobs` calls the metric that an experiment names with the model and the fold. Users add their own with
`register_metric`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dpforest.schema import Schema

__all__ = ["Fold", "Metric", "find_metric", "register_metric"]


@dataclass(frozen=True)
class Fold:
    """Rows to learn from and rows to predict, with what is public about both.

    Parameters
    ----------
    X_train, y_train, X_test, y_test : data frame, ndarray
        The rows.
    schema : Schema
        Their public description.
    """

    X_train: Any
    y_train: NDArray[Any]
    X_test: Any
    y_test: NDArray[Any]
    schema: Schema

    @property
    def codes(self) -> NDArray[np.int32]:
        """Codes of the true targets of the test rows."""
        return self.schema.encode_target(self.y_test)


Measure: TypeAlias = Callable[[Any, Fold], float]


@dataclass(frozen=True)
class Metric:
    """A measure with how to show it.

    Parameters
    ----------
    name : str
        Unique name.
    measure : callable
        ``measure(model, fold)`` gives a number.
    percent : bool
        Whether it is a fraction, shown in percent.
    better : {"higher", "lower", ""}
        Which values are better; empty if neither.
    """

    name: str
    measure: Measure
    percent: bool
    better: str

    def show(self, value: float) -> str:
        """Write a value with the digits that a reader needs.

        Examples
        --------
        >>> find_metric("accuracy").show(0.91234), find_metric("mse").show(0.0012345)
        ('91.23 %', '0.001234')
        """
        return f"{100 * value:.2f} %" if self.percent else f"{value:.4g}"


_METRICS: dict[str, Metric] = {}


def register_metric(name: str, measure: Measure, *, percent: bool = False, better: str = "higher") -> Metric:
    """Add a metric, or replace the one of the same name.

    Parameters
    ----------
    name : str
        Unique name.
    measure : callable
        ``measure(model, fold)`` gives a number.
    percent : bool, default=False
        Whether it is a fraction, shown in percent.
    better : {"higher", "lower", ""}, default="higher"
        Which values are better; empty if neither.

    Returns
    -------
    Metric
    """
    metric = Metric(name, measure, percent, better)
    _METRICS[name] = metric
    return metric


def find_metric(name: str) -> Metric:
    """Return a metric by name."""
    if name not in _METRICS:
        raise ValueError(f"there is no metric {name!r}; there are {', '.join(_METRICS)}.")
    return _METRICS[name]


def _formula(model: Any, fold: Fold) -> float:
    raise TypeError("formulas are computed, not measured: give the experiment a `compute`.")


def _predicted(model: Any, fold: Fold) -> NDArray[np.int32]:
    """Codes of the predicted classes: labels may be text here and numbers there, codes compare."""
    return fold.schema.encode_target(model.predict(fold.X_test))


def _accuracy(model: Any, fold: Fold) -> float:
    return float(np.mean(_predicted(model, fold) == fold.codes))


def _error(model: Any, fold: Fold) -> float:
    return 1.0 - _accuracy(model, fold)


def _mse(model: Any, fold: Fold) -> float:
    differences = np.asarray(model.predict(fold.X_test), np.float64) - fold.y_test.astype(np.float64)
    return float(np.mean(differences**2))


def _rare_class(fold: Fold) -> int:
    """Return the rarest class of the test rows, the positive one of Fletcher and Islam (2017, Section 5)."""
    codes, counts = np.unique(fold.codes, return_counts=True)
    return int(codes[counts.argmin()])


def _auc(model: Any, fold: Fold) -> float:
    from sklearn.metrics import roc_auc_score

    rare = _rare_class(fold)
    column = int(np.flatnonzero(fold.schema.encode_target(model.classes_) == rare)[0])
    return float(roc_auc_score(fold.codes == rare, model.predict_proba(fold.X_test)[:, column]))


def _f1(model: Any, fold: Fold) -> float:
    from sklearn.metrics import f1_score

    rare = _rare_class(fold)
    return float(f1_score(fold.codes == rare, _predicted(model, fold) == rare, zero_division=0.0))


def _probabilities(model: Any, fold: Fold) -> NDArray[np.float64]:
    """Predicted probabilities, columns in the order of the schema's codes."""
    order = fold.schema.encode_target(model.classes_)
    shares = np.asarray(model.predict_proba(fold.X_test), np.float64)
    found = np.zeros((len(shares), len(fold.schema.classes.labels)))
    found[:, order] = shares
    return found


def _log_loss(model: Any, fold: Fold) -> float:
    shares = _probabilities(model, fold)[np.arange(len(fold.codes)), fold.codes]
    return float(-np.log(np.maximum(shares, 1e-6)).mean())  # a class that was ruled out costs 13.8


def _brier_score(model: Any, fold: Fold) -> float:
    shares = _probabilities(model, fold)
    return float(((shares - np.eye(shares.shape[1])[fold.codes]) ** 2).sum(axis=1).mean())


def _empty_leaves(model: Any, fold: Fold) -> float:
    from dpforest.inspection import leaf_occupancy

    return float(np.mean(leaf_occupancy(model, fold.X_train) == 0.0))


register_metric("accuracy", _accuracy, percent=True)
register_metric("error", _error, percent=True, better="lower")
register_metric("mse", _mse, better="lower")
register_metric("auc", _auc)
register_metric("f1", _f1)
register_metric("log loss", _log_loss, better="lower")
register_metric("brier score", _brier_score, better="lower")
register_metric("value", _formula, better="")
register_metric("empty leaves", _empty_leaves, percent=True, better="lower")
