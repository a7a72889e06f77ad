"""A fitted model as one file of plain Python, checked against the model before it is handed out."""

from __future__ import annotations

import json
import math
from importlib.resources import files
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpforest.schema import Boolean, Classes, Feature, Numeric, Schema
from dpforest.schema.features import LevelFeature
from dpforest.schema.kinds import TRUTH_WORDS

CHECKED_ROWS = 200
CLOSE = 1e-6
_SLOT = 'MODEL = json.loads("{}")'


def to_python(model: Any) -> str:
    """Write a fitted model as one file of Python that needs no package.

    The file holds released values only, as the model does. It is run on made-up rows before it is returned,
    and refused if any of its answers differs from the model's by more than 1e-6.

    Parameters
    ----------
    model : fitted forest of this library
        Any but one that was run as published.

    Returns
    -------
    str
        The text of the file, with functions ``predict`` and ``predict_proba`` for single rows.

    Examples
    --------
    >>> import numpy as np
    >>> from dpforest import PrivateForestClassifier
    >>> from dpforest.export import to_python
    >>> X = np.random.default_rng(0).random((500, 2))
    >>> model = PrivateForestClassifier(bounds=(0, 1), classes=[0, 1]).fit(X, X[:, 0] > 0.5)
    >>> scoring = {"__name__": "scoring"}
    >>> exec(to_python(model), scoring)
    >>> bool(scoring["predict"](X[0].tolist()) == model.predict(X[:1])[0])
    True
    """
    text = files("dpforest.export").joinpath("scoring.py").read_text(encoding="utf-8")
    # `repr` makes a literal of any text, so nothing that a schema holds can become code
    filled = text.replace(_SLOT, f"MODEL = json.loads({json.dumps(document_of(model))!r})", 1)
    _check(filled, model)
    return filled


def document_of(model: Any) -> dict[str, Any]:
    """Return what a prediction needs, as plain values: the public grid, trees, scores and how they end.

    Parameters
    ----------
    model : fitted forest of this library
        Any but one that was run as published.
    """
    if not hasattr(model, "trees_"):
        raise TypeError("Only a fitted forest of this library can be exported, not one run as published.")
    schema, trees, additive = model.schema_, model.trees_, model.additive_
    names = list(schema.names)
    pairs = None if additive is None else additive.pairs
    per_tree = zip(trees.feature.tolist(), trees.threshold.tolist(), model.leaf_votes_.tolist(), strict=True)
    found = {
        "names": names,
        "features": [_feature(feature) for feature in schema.features.values()],
        "combinations": [[names.index(c.first), names.index(c.second), c.sign] for c in schema.combinations],
        "pairs": {"columns": [], "scales": [], "cuts": []}
        if pairs is None
        else {name: getattr(pairs, name).tolist() for name in ("columns", "scales", "cuts")},
        "trees": list(per_tree),
        "left_sets": trees.left_sets.tolist(),
        "n_outputs": int(model.leaf_votes_.shape[2]),
        "additive": [] if additive is None else _padded(additive.table, model.leaf_votes_.shape[2]),
        "tree_weight": 1.0,
    }
    if isinstance(schema.target, Classes):
        found["classes"] = [label.item() if hasattr(label, "item") else label for label in model.classes_]
        weights = getattr(model, "decision_weights_", None)
        found["decision"] = None if weights is None else weights.tolist()
        found["ending"] = "shares" if additive is None else "softmax"
        found["tree_weight"] = 1.0 if additive is None else additive.tree_weight
        found["clip"] = None if additive is None else additive.clip
        return found
    law = schema.range
    # forests that add up levels clip them; others divide sums, and fall back on the mean of everything
    empty = np.zeros((1, found["n_outputs"]))
    found |= {
        "low": law.low,
        "high": law.high,
        "levels": law.levels,
        "fallback": float(model._levels(empty)[0]),
    }
    probe = np.full((1, found["n_outputs"]), float(law.levels))
    found["ending"] = "levels" if float(model._levels(probe)[0]) == law.levels else "means"
    return found


def _padded(table: NDArray[np.int64], n_outputs: int) -> list[Any]:
    """Scores of every cell; a table of one output stands for the first of several."""
    missing = n_outputs - table.shape[2]
    padded: list[Any] = np.pad(table, ((0, 0), (0, 0), (0, missing))).tolist()
    return padded


def _feature(feature: Feature) -> dict[str, Any]:
    if isinstance(feature, Numeric):
        return {"known": feature.n_known, "borders": feature.borders.tolist()}
    assert isinstance(feature, LevelFeature)
    texts, levels = feature.table.written()
    words = dict(TRUTH_WORDS) if isinstance(feature, Boolean) else {}
    return {"known": feature.n_known, "texts": texts, "numbers": levels, "words": words}


def _check(text: str, model: Any) -> None:
    """Run the file on made-up rows and compare."""
    scoring: dict[str, Any] = {"__name__": "scoring"}
    exec(compile(text, "scoring.py", "exec"), scoring)  # noqa: S102  # of our own making
    rows = made_up_rows(model.schema_, CHECKED_ROWS, np.random.default_rng(0))
    table = np.empty((len(rows), len(rows[0])), object)
    table[:] = rows
    predicted = np.array([scoring["predict"](row) for row in rows])
    is_class = isinstance(model.schema_.target, Classes)
    probabilities = np.array([scoring["predict_proba"](row) for row in rows]) if is_class else None
    if not agrees(model, table, predicted, probabilities):
        raise RuntimeError("The exported file does not predict as the model does; it was not written.")


def agrees(model: Any, table: NDArray[Any], predicted: NDArray[Any], probabilities: Any) -> bool:
    """Tell whether another form of a model predicts as the model does.

    Parameters
    ----------
    model : fitted forest of this library
        The model.
    table : ndarray of shape (n_rows, n_features)
        Rows.
    predicted, probabilities : ndarray
        What the other form says of them; probabilities are None for numbers.
    """
    wanted = model.predict(table)
    if probabilities is None:
        close = CLOSE * (model.schema_.range.high - model.schema_.range.low)
        return bool(np.allclose(predicted, wanted, rtol=0, atol=close))
    shares = model.predict_proba(table)
    weighed = np.sort(shares if model.decision_weights_ is None else shares * model.decision_weights_)
    is_clear = weighed[:, -1] - weighed[:, -2] > CLOSE  # rounding may decide between equals
    same = bool((predicted[is_clear] == wanted[is_clear]).all())
    return same and bool(np.allclose(probabilities, shares, rtol=0, atol=CLOSE))


def made_up_rows(schema: Schema, n_rows: int, rng: np.random.Generator) -> list[list[Any]]:
    """Draw rows of declared, missing, undeclared and far-off values."""
    return [[_value(feature, rng) for feature in schema.features.values()] for _ in range(n_rows)]


def _value(feature: Feature, rng: np.random.Generator) -> Any:
    odd = rng.random()
    if odd < 0.1:
        return [None, math.nan, "never declared", math.inf, -1e300][int(rng.integers(5))]
    if isinstance(feature, Numeric):
        if odd < 0.3:
            return float(feature.borders[rng.integers(len(feature.borders))])
        return float(rng.uniform(feature.low, feature.high))
    levels = feature.table.written()[0]
    return str(list(levels)[int(rng.integers(len(levels)))])
