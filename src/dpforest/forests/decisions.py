"""From class probabilities to one class: which errors weigh more is public, so deciding is free.

A rare class is hardly ever the most probable one. `class_weight` and `threshold` move what `predict` says,
and leave `predict_proba` as it is.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpforest.schema import Classes

BALANCED = "balanced"
MOST_WEIGHT = 1e9
OPTIONAL = frozenset({"class_weight", "threshold"})
"""Parameters that a model file has only where they are set."""


def is_class_weight(value: Any) -> bool:
    """Whether a parameter can be a class weight; whether its labels are declared shows later."""
    if value is None or (isinstance(value, str) and value == BALANCED):
        return True
    return (
        isinstance(value, Mapping)
        and len(value) > 0
        and all(
            isinstance(weight, Real)
            and not isinstance(weight, bool)
            and 1 / MOST_WEIGHT <= float(weight) <= MOST_WEIGHT
            for weight in value.values()
        )
    )


def write_weights(value: Mapping[Any, Any]) -> str:
    """Write a dictionary of class weights as one text, for a model file."""
    return json.dumps([[_plain(label), float(weight)] for label, weight in value.items()])


def read_weights(text: Any) -> Any:
    """Read what `write_weights` wrote; leave anything else as it is."""
    if not isinstance(text, str) or not text.startswith("["):
        return text
    return dict(json.loads(text))


def check_decision(
    owner: str, class_weight: Any, threshold: float | None, target: Classes, can_balance: bool
) -> None:
    """Refuse a decision that the classes, or the forest, do not allow; before anything is charged."""
    if class_weight is not None and threshold is not None:
        raise ValueError(f"{owner}: give class_weight or threshold, not both.")
    if threshold is not None and target.n_classes != 2:
        raise ValueError(f"{owner}: threshold needs two classes, not {target.n_classes}; use class_weight.")
    if class_weight == BALANCED and not can_balance:
        raise ValueError(
            f"{owner}: class_weight='balanced' needs noisy counts of the classes, which this forest does not "
            "release; give numbers."
        )
    if isinstance(class_weight, Mapping):
        strangers = [label for label in class_weight if _plain(label) not in target.labels]
        if strangers:
            raise ValueError(f"{owner}: class_weight has labels that are not declared: {strangers[:5]!r}.")


def decision_weights(
    class_weight: Any, threshold: float | None, target: Classes, counts: NDArray[np.float64] | None
) -> NDArray[np.float64] | None:
    """Return by what probabilities are multiplied before the largest is taken; None if by nothing.

    Parameters
    ----------
    class_weight, threshold
        Parameters of the forest, checked. Classes that are not in a dictionary weigh 1.
    target : Classes
        Declared labels.
    counts : ndarray of shape (n_classes,) or None
        Noisy rows of each class, if they were released; at least one row counts for every class.

    Examples
    --------
    >>> decision_weights({"ill": 5}, None, Classes(["ill", "well"]), None)
    array([1. , 0.2])
    >>> decision_weights(None, 0.2, Classes([0, 1]), None)  # 1 if its probability is above 0.2
    array([0.25, 1.  ])
    """
    if threshold is not None:
        weights = np.array([threshold, 1 - threshold])
    elif class_weight == BALANCED:
        assert counts is not None
        weights = 1 / np.maximum(counts, 1.0)
    elif class_weight is not None:
        given = {_plain(label): float(weight) for label, weight in class_weight.items()}
        weights = np.array([given.get(label, 1.0) for label in target.labels])
    else:
        return None
    scaled: NDArray[np.float64] = weights / weights.max()
    return scaled


def _plain(label: Any) -> Any:
    plain = label.item() if isinstance(label, np.generic) else label
    return plain if not isinstance(plain, float) or math.isfinite(plain) else str(plain)
