"""What the adversary reads off a released model: named numbers, the same names in every run.

`running` calls an observer once per run. The default looks at everything a model of ours releases (splits,
leaf statistics, predictions, the domain) and at whatever of predictions, probabilities and single trees
another library's model offers. The probes are the rows in which the two tables differ and their neighbours.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpforest.schema import Numeric

Observation = Mapping[str, float]
Observer = Callable[[Any, NDArray[Any]], Any]

MAX_TREES = 3  # trees whose own numbers are reported; all trees enter the sums
MAX_ENTRIES = 16  # numbers of one array that are reported one by one
ARRANGED = ("leaf_statistics_", "leaf_votes_")  # reported around the probes


def observe(output: Any, probes: NDArray[Any]) -> Observation:
    """Read the default numbers off a fitted model, or off whatever else a callable returned.

    Parameters
    ----------
    output : fitted estimator, mapping, array or number
        What was released.
    probes : ndarray of shape (n_probes, n_features)
        Rows to ask a model about.

    Returns
    -------
    dict of str to float

    Examples
    --------
    >>> observe([3, 4], probes=None)
    {'output 0': 3.0, 'output 1': 4.0}
    """
    if isinstance(output, Mapping):
        return {str(name): float(value) for name, value in output.items()}
    if not hasattr(output, "predict"):
        return _numbered("output", np.asarray(output, np.float64))
    if hasattr(output, "leaf_statistics_"):  # what our forests predict follows from what they released
        return _forest(output, probes) | _attributes(output)
    seen = _answers(output, probes, "") | _attributes(output)
    for number, tree in enumerate(getattr(output, "estimators_", ())[:MAX_TREES]):
        if hasattr(tree, "predict"):
            seen |= _answers(tree, probes, f"tree {number}: ")
    return seen


def named(output: Any) -> Observation:
    """Bring what a user's observer returned into the form of `observe`.

    Examples
    --------
    >>> named(2)
    {'output': 2.0}
    """
    if isinstance(output, Mapping):
        return {str(name): float(value) for name, value in output.items()}
    return _numbered("output", np.asarray(output, np.float64))


def _attributes(model: Any) -> dict[str, float]:
    """Read the numbers, and the short arrays of numbers, that a model keeps: raw counts hide there."""
    kind: type = type(model)
    parameters = _parameter_names(kind)
    seen: dict[str, float] = {}
    for name, value in vars(model).items():
        if (
            name in parameters
            or name in ARRANGED
            or not isinstance(value, int | float | np.ndarray | np.number)
        ):
            continue
        numbers = np.asarray(value)
        if numbers.dtype.kind in "iufb" and numbers.size <= MAX_ENTRIES:
            seen |= _numbered(f"attribute {name}", numbers.astype(np.float64))
    return seen


@cache
def _parameter_names(kind: type) -> frozenset[str]:
    return frozenset(inspect.signature(kind).parameters)


def _answers(model: Any, probes: NDArray[Any], prefix: str) -> dict[str, float]:
    """Ask the model about the probes."""
    if hasattr(model, "predict_proba"):
        chances = np.asarray(model.predict_proba(probes), np.float64)[:, 1:]  # they add up to one
        return _table(f"{prefix}chance", chances)
    answers = np.asarray(model.predict(probes))
    if answers.dtype.kind not in "iufb":  # labels: which of them, in a fixed order
        classes = list(getattr(model, "classes_", sorted(set(answers))))
        answers = np.array([classes.index(answer) for answer in answers])
    return {f"{prefix}prediction of probe {i}": float(x) for i, x in enumerate(answers)}


def _forest(model: Any, probes: NDArray[Any]) -> dict[str, float]:
    """Everything that a forest of ours releases, arranged around the probes."""
    from dpforest.trees import find_leaves

    trees, statistics, schema = model.trees_, model.leaf_statistics_, model.schema_
    leaves = find_leaves(trees, schema.encode_features(probes))
    statistics = statistics.reshape(trees.n_trees, trees.n_leaves, -1).astype(np.float64)
    met = statistics[np.arange(trees.n_trees)[:, None], leaves]  # (tree, probe, statistic)
    apart = (leaves != leaves[:, :1]).astype(np.float64)[:, 1:]  # who is told from the odd row
    seen = {"number of trees": float(trees.n_trees), "depth": float(trees.depth)}
    seen |= _table("leaf statistic, all trees", met.sum(axis=0))
    votes = model.leaf_votes_[np.arange(trees.n_trees)[:, None], leaves].sum(axis=0)
    seen |= _table("vote", votes[:, 1:] if votes.shape[1] > 1 else votes)
    seen |= {f"trees that part probes 0 and {i + 1}": float(x) for i, x in enumerate(apart.sum(axis=0))}
    seen |= _numbered("total statistic", statistics.sum(axis=(0, 1)))
    for number in range(MAX_TREES):
        if number >= trees.n_trees:
            met_here, root = np.zeros(met.shape[1:]), (-1.0, -1.0)  # the number of trees may be random
            apart_here = np.zeros(apart.shape[1])
        else:
            met_here, apart_here = met[number], apart[number]
            root = (
                (float(trees.feature[number, 0]), float(trees.threshold[number, 0]))
                if trees.depth
                else (-1, -1)
            )
        prefix = f"tree {number}:"
        seen |= _table(f"{prefix} leaf statistic", met_here)
        seen |= {f"{prefix} parts probes 0 and {i + 1}": float(x) for i, x in enumerate(apart_here)}
        seen |= {f"{prefix} first feature": root[0], f"{prefix} first threshold": root[1]}
    # noise that two trees share cancels here
    second = statistics[min(1, trees.n_trees - 1)].ravel()[:MAX_ENTRIES]
    seen |= _numbered("difference of trees 0 and 1", statistics[0].ravel()[:MAX_ENTRIES] - second)
    for name, feature in schema.features.items():
        if isinstance(feature, Numeric):
            seen |= {f"lower bound of {name}": feature.low, f"upper bound of {name}": feature.high}
        else:
            seen[f"categories of {name}"] = float(feature.n_known)
    return seen


def _table(name: str, values: NDArray[np.float64]) -> dict[str, float]:
    return {
        f"{name} {column} of probe {row}": float(values[row, column])
        for row, column in np.ndindex(values.shape)
    }


def _numbered(name: str, values: NDArray[np.float64]) -> dict[str, float]:
    flat = values.ravel()
    return {name if values.ndim == 0 else f"{name} {i}": float(x) for i, x in enumerate(flat)}
