"""What the adversary reads off a released model, by names that are the same in every run.

`fitting` calls an observer once per run. The default looks at everything a model of ours releases (splits,
leaf statistics, predictions, the domain), and at all that another library's model answers and keeps: its
predictions, those of its single trees, its attributes and what is inside them. The probes are the rows in
which the two tables differ and their neighbours.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpforest.audit.readings import Observation, Phrase, Reading, parts, read
from dpforest.schema import Numeric

Observer = Callable[[Any, NDArray[Any]], Any]

MAX_TREES = 3  # trees of ours whose own numbers are reported; all trees enter the sums
MAX_FOREIGN_TREES = 16  # trees of others that are asked
MAX_ENTRIES = 16  # numbers of one attribute that are reported one by one
ARRANGED = ("leaf_statistics_", "leaf_votes_", "trees_", "schema_")  # reported around the probes
QUESTIONS = ("predict", "predict_proba", "decision_function")


def observe(output: Any, probes: NDArray[Any]) -> Observation:
    """Read a fitted model, or whatever else a callable returned.

    Parameters
    ----------
    output : fitted estimator, mapping, array, number or anything else
        What was released.
    probes : ndarray of shape (n_probes, n_features)
        Rows to ask a model about.

    Returns
    -------
    dict of str to float or Phrase

    Examples
    --------
    >>> observe([3, None], probes=None)
    {'type of output': 'is list of length 2', 'output 0': 3.0, 'output 1': 'is None'}
    """
    if not hasattr(output, "predict"):
        return named(output)
    if hasattr(output, "leaf_statistics_"):  # what our forests predict follows from what they released
        return _forest(output, probes) | _attributes(output, depth=1)
    seen = _answers(output, probes, "")
    trees = getattr(output, "estimators_", ())
    for number, tree in enumerate(list(np.ravel(np.asarray(trees, object)))[:MAX_FOREIGN_TREES]):
        seen |= _answers(tree, probes, f"tree {number}: ")
    return seen | _attributes(output, depth=3)


def named(output: Any) -> Observation:
    """Bring what a user's observer returned into the form of `observe`.

    Examples
    --------
    >>> named(2)
    {'type of output': 'is int', 'output': 2.0}
    >>> named({"rows": 2, "mean": float("nan")})
    {'rows': 2.0, 'mean': nan}
    """
    if isinstance(output, Mapping):
        return read("", output)
    seen: dict[str, Reading] = {"type of output": Phrase(f"is {type(output).__name__}")}
    return seen | read("output", output)


def _attributes(model: Any, depth: int) -> dict[str, Reading]:
    """Read what a model keeps: raw counts hide there."""
    kind: type = type(model)
    known = {*ARRANGED, *_parameter_names(kind)} if hasattr(model, "leaf_statistics_") else set()
    kept = {name: value for name, value in parts(model).items() if name not in known}
    return {f"attribute {name}": x for name, x in read("", kept, MAX_ENTRIES, depth).items()}


@cache
def _parameter_names(kind: type) -> frozenset[str]:
    return frozenset(inspect.signature(kind).parameters)


def _answers(model: Any, probes: NDArray[Any], prefix: str) -> dict[str, Reading]:
    """Ask a model about the probes; that it does not answer is an answer."""
    seen: dict[str, Reading] = {}
    for question in QUESTIONS:
        if not hasattr(model, question):
            continue
        try:
            answers = np.atleast_1d(np.asarray(getattr(model, question)(probes)))
        except Exception as error:
            seen[f"{prefix}{question}"] = Phrase(f"fails ({type(error).__name__})")
            continue
        for row, answer in enumerate(answers):
            seen |= read(f"{prefix}{question} of probe {row}", answer, MAX_ENTRIES)
    return seen


def _forest(model: Any, probes: NDArray[Any]) -> dict[str, Reading]:
    """Everything that a forest of ours releases, arranged around the probes."""
    from dpforest._trees import cells_for, find_leaves

    trees, statistics, schema = model.trees_, model.leaf_statistics_, model.schema_
    leaves = find_leaves(trees, cells_for(model, probes))
    statistics = statistics.reshape(trees.n_trees, trees.n_leaves, -1).astype(np.float64)
    met = statistics[np.arange(trees.n_trees)[:, None], leaves]  # (tree, probe, statistic)
    apart = (leaves != leaves[:, :1]).astype(np.float64)[:, 1:]  # who is told from the odd row
    seen: dict[str, Reading] = {"number of trees": float(trees.n_trees), "depth": float(trees.depth)}
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
