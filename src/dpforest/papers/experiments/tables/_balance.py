"""How evenly forests cut their rows, for the figures that show it as histograms.

A histogram becomes one number, a registered metric, averaged over several fits. Only the rigorous forms are
measured: published forms keep other trees.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from dpforest.papers.experiments.experiment import Cell, Setting
from dpforest.papers.experiments.methods import find
from dpforest.papers.experiments.metrics import Fold, find_metric

__all__ = ["mean_metric"]


def mean_metric(metric: str, n_fits: int, **parameters: Any) -> Callable[[Cell, Setting], float]:
    """Return a `compute` that averages a metric over fits to all rows.

    Parameters
    ----------
    metric : str
        Name of a metric of the training rows.
    n_fits : int
        Number of fits.
    **parameters
        For the methods.

    Returns
    -------
    callable
        ``compute(cell, setting)`` of an `Experiment`.
    """
    return _MeanMetric(metric, n_fits, parameters)


class _MeanMetric:
    """A function with a memory, so that it can be sent to other processes."""

    def __init__(self, metric: str, n_fits: int, parameters: dict[str, Any]) -> None:
        self.metric, self.n_fits, self.parameters = metric, n_fits, parameters

    def __call__(self, cell: Cell, setting: Setting) -> float:
        from dpforest.papers.datasets import load

        X, y, schema = load(cell.dataset)
        fold = Fold(X, y, X[:0], y[:0], schema)
        method = find(cell.method)
        if method is None:
            raise LookupError(f"there is no method {cell.method!r}.")
        values = []
        for seed in range(self.n_fits):
            parameters = {**self.parameters, **setting}
            model = method.factory(
                task="classification", schema=schema, epsilon=cell.epsilon, seed=seed, parameters=parameters
            )
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # seeds make it repeatable, which is meant
                values.append(find_metric(self.metric).measure(model.fit(X, y), fold))
        return float(np.mean(values))
