"""Forests of other libraries, run in an environment of their own: diffprivlib, and boosting of InterpretML.

They need other versions of scikit-learn than we do, so a fit goes to a process of that environment, with its
arrays in a temporary file. `install` makes the environment; without it the methods are reported as absent.
`systems` registers them.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from dpforest.papers.experiments.methods import Factory, MethodNotAvailableError, register
from dpforest.papers.published import domain_of, raw_matrix
from dpforest.schema import Classes, Range, Schema

__all__ = ["folder", "install", "register_all"]

PACKAGES = ("diffprivlib==0.6.6", "interpret-core==0.7.3", "scikit-learn<1.6", "numpy<2.3")
INSTALL = "run `dpforest bench peers` once to install it in an environment of its own"

WORKER = """
import json, sys, warnings
import numpy as np
warnings.simplefilter("ignore")
task, arrays = json.loads(sys.argv[1]), np.load(sys.argv[2])
low, high = arrays["low"], arrays["high"]
if task["library"] == "diffprivlib":
    from diffprivlib.models import RandomForestClassifier
    model = RandomForestClassifier(
        epsilon=task["epsilon"], bounds=(low, high), classes=np.arange(task["n_classes"]),
        random_state=task["seed"], shuffle=True, **task["parameters"],
    )
else:
    from interpret.privacy import DPExplainableBoostingClassifier, DPExplainableBoostingRegressor
    given = dict(
        epsilon=task["epsilon"], delta=1e-6, privacy_bounds=np.column_stack([low, high]),
        feature_types=["continuous"] * len(low), random_state=task["seed"], n_jobs=1, **task["parameters"],
    )
    if task["n_classes"]:
        model = DPExplainableBoostingClassifier(**given)
    else:
        model = DPExplainableBoostingRegressor(privacy_target_min=0.0, privacy_target_max=1.0, **given)
model.fit(arrays["X"], arrays["y"])
found = {"predicted": model.predict(arrays["rows"])}
if task["n_classes"]:
    found["shares"] = model.predict_proba(arrays["rows"])
np.savez(sys.argv[3], **found)
"""


def folder() -> Path:
    """Return where the environment of the other libraries is or will be.

    The environment variable ``DPFOREST_PEERS`` overrides the place in the user's cache.
    """
    return Path(os.environ.get("DPFOREST_PEERS") or Path.home() / ".cache" / "dpforest" / "peers")


def install() -> Path:
    """Make the environment of the other libraries; needs a network.

    Returns
    -------
    Path
        Where it is.
    """
    place = folder()
    subprocess.run([sys.executable, "-m", "venv", str(place)], check=True)  # noqa: S603 (our own arguments)
    pip = [str(place / "bin" / "python"), "-m", "pip", "install", "--quiet", *PACKAGES]
    subprocess.run(pip, check=True)  # noqa: S603
    return place


class ElsewhereEstimator:
    """An estimator whose fit and predictions happen in the other environment, together.

    Parameters
    ----------
    task : dict
        Library, budget, seed and parameters, for the worker.
    schema : Schema
        How to read the table.
    """

    def __init__(self, task: dict[str, Any], schema: Schema) -> None:
        self.task, self.schema = task, schema

    def fit(self, X: Any, y: Any) -> Self:
        """Keep the rows as numbers; `predict` sends them."""
        self.numbers_ = indicator_columns(X, self.schema)
        codes = self.schema.encode_target(y)
        target = self.schema.target
        self.target_ = codes / target.levels if isinstance(target, Range) else codes
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """Fit there and predict rows."""
        predicted = self._ask(X)["predicted"]
        if isinstance(self.schema.target, Range):
            return self.schema.target.decode(predicted * self.schema.target.levels)
        return np.take(self.classes_, predicted.astype(int))

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Fit there and give class probabilities."""
        return np.asarray(self._ask(X)["shares"], np.float64)

    @property
    def classes_(self) -> NDArray[Any]:
        """Declared labels, sorted."""
        return np.asarray(self.schema.classes.labels)

    def _ask(self, X: Any) -> dict[str, NDArray[Any]]:
        low, high = _bounds(self.schema)
        rows = indicator_columns(X, self.schema)
        with tempfile.TemporaryDirectory() as place:
            asked, answered = Path(place) / "asked.npz", Path(place) / "answered.npz"
            np.savez(asked, low=low, high=high, X=self.numbers_, y=self.target_, rows=rows)
            command = [str(_python()), "-c", WORKER, json.dumps(self.task), str(asked), str(answered)]
            done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
            if done.returncode:
                raise RuntimeError(f"{self.task['library']} failed: {done.stderr.strip()[-500:]}")
            with np.load(answered) as arrays:
                return dict(arrays)


def indicator_columns(X: Any, schema: Schema) -> NDArray[np.float64]:
    """Read a table into doubles: ordered features as they are, an indicator for each category.

    Examples
    --------
    >>> from dpforest.schema import Nominal, Numeric, Schema
    >>> indicator_columns([[2, "b"]], Schema({"x": Numeric(0, 9), "c": Nominal(["a", "b"])}))
    array([[2., 0., 1., 0., 0.]])
    """
    raw = raw_matrix(X, schema)
    parts: list[NDArray[Any]] = []
    for column, feature in zip(raw.T, schema.features.values(), strict=True):
        parts.append(column[:, None] == np.arange(feature.n_cells) if feature.is_nominal else column[:, None])
    return np.concatenate(parts, axis=1).astype(np.float64)


def _bounds(schema: Schema) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Bounds of the columns of `indicator_columns`."""
    domain = domain_of(schema)
    low, high = [], []
    for j, feature in enumerate(schema.features.values()):
        width = feature.n_cells if feature.is_nominal else 1
        low += [0.0 if feature.is_nominal else float(domain.low[j])] * width
        high += [1.0 if feature.is_nominal else float(domain.high[j])] * width
    return np.array(low), np.array(high)


def _python() -> Path:
    python = folder() / "bin" / "python"
    if not python.exists():
        raise MethodNotAvailableError(INSTALL)
    return python


def elsewhere(library: str, takes: tuple[str, ...], tasks: tuple[str, ...], max_classes: int) -> Factory:
    """Return a factory for a library of the other environment."""

    def make(*, task: str, schema: Schema, epsilon: float, seed: int, parameters: Mapping[str, Any]) -> Any:
        n_classes = schema.target.n_classes if isinstance(schema.target, Classes) else 0
        if task not in tasks or n_classes > max_classes:
            raise MethodNotAvailableError(f"{library} has no private form for this target.")
        _python()
        taken = {key: value for key, value in parameters.items() if key in takes}
        facts = {"library": library, "epsilon": epsilon, "seed": seed, "n_classes": n_classes}
        return ElsewhereEstimator({**facts, "parameters": taken}, schema)

    return make


def register_all() -> None:
    """Register the forests of other libraries."""
    register(
        "diffprivlib",
        elsewhere("diffprivlib", ("n_estimators", "max_depth"), ("classification",), 1000),
        about="random forest of diffprivlib 0.6.6, rows shuffled",
    )
    register(
        "DP-EBM",
        elsewhere("interpret", (), ("classification", "regression"), 2),
        about="private boosting of InterpretML 0.7.3, delta = 1e-6; two classes or a number",
    )
