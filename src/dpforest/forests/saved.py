"""Estimators to model files and back: what is kept of a fitted model, and who may come out of a file.

`PrivateForest.save` and `load` call these functions; `dpforest.modelfile` reads and writes the file and
checks everything that does not depend on the estimator. The class of a model is looked up in `ESTIMATORS`: a
name in a file never becomes an import of anything that is not on that list.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from dpforest._curator import NAMED
from dpforest.forests.base import PrivateForest
from dpforest.forests.decisions import OPTIONAL, read_weights
from dpforest.forests.parameters import check_parameters
from dpforest.forests.registry import ESTIMATORS
from dpforest.forests.release import PrivateRelease, Settings, Trained, kept_parameters, promise
from dpforest.modelfile import ModelFileError, ModelRecord, read_record, write_record
from dpforest.modelfile.record import REFUSALS
from dpforest.modelfile.signing import read_private_key, read_public_key
from dpforest.schema import Classes, Range


def save(
    model: PrivateForest, path: str | os.PathLike[str], key: str | os.PathLike[str] | None = None
) -> None:
    """Write a fitted model; see `PrivateForest.save`."""
    check_is_fitted(model)
    if model._is_published:
        raise ModelFileError(
            "a model run as published cannot be saved: it holds values that no mechanism released."
        )
    write_record(_record_of(model), path, None if key is None else read_private_key(key))


def load(path: str | os.PathLike[str], key: str | os.PathLike[str] | None = None) -> PrivateForest:
    """Read a model of any class from a file that `save` wrote.

    Loading runs no code from the file and checks all of it, so that a damaged or hostile one fails clearly.
    What an unsigned file says about privacy is the word of whoever wrote it: the checksum finds damage, not
    lies. With `key`, the file must be signed by the holder of that key.

    Parameters
    ----------
    path : str or path
        The file.
    key : str or path, optional
        File of the public key whose signature is demanded; the model's `signed_by_` then names it.

    Returns
    -------
    PrivateForest
        A fitted estimator that predicts exactly as the saved one.

    Raises
    ------
    ModelFileError
        If the file is not a model of a version known here, was damaged, or is not signed by the key.

    Examples
    --------
    >>> import tempfile, numpy as np, dpforest
    >>> X = np.random.default_rng(0).random((500, 2))
    >>> model = dpforest.DiPriMeForestClassifier(bounds=(0, 1), classes=[0, 1]).fit(X, X[:, 0] > 0.5)
    >>> with tempfile.NamedTemporaryFile() as file:
    ...     model.save(file.name)
    ...     same = dpforest.load(file.name)
    >>> bool((same.predict(X) == model.predict(X)).all()), same.guarantee_ == model.guarantee_
    (True, True)
    """
    public_key = None if key is None else read_public_key(key)
    try:
        record = read_record(path, public_key)
        with np.errstate(all="ignore"):  # votes that are not finite are refused
            return _model_of(record)
    except ModelFileError as error:
        raise ModelFileError(f"{os.fspath(path)}: {error}") from None
    except REFUSALS as error:
        raise ModelFileError(f"{os.fspath(path)}: not a valid model ({error}).") from None


def _record_of(model: PrivateForest) -> ModelRecord:
    names = getattr(model, "feature_names_in_", None)
    return ModelRecord(
        estimator=type(model).__name__,
        parameters=dict(model.settings_.parameters),
        declared=model.settings_.declared,
        schema=model.schema_,
        feature_names=None if names is None else tuple(map(str, names)),
        trees=model.trees_,
        statistics=model.leaf_statistics_.astype(np.int64),
        leaf_noises=model.leaf_noises_,
        ledger=model.ledger_,
        guarantee=model.guarantee_,
        additive=model.additive_,
        receipt=model.receipt_,
        leaf_classes=model.leaf_classes_,
    )


def _model_of(record: ModelRecord) -> PrivateForest:
    estimator = ESTIMATORS.get(record.estimator)
    if estimator is None:
        raise ModelFileError(f"{record.estimator[:60]!r} is not an estimator of this library.")
    unset = estimator()
    optional = OPTIONAL & set(unset.get_params(deep=False))
    if set(record.parameters) - optional != set(kept_parameters(unset, estimator._rules)) - optional:
        raise ModelFileError(f"the parameters are not those of {record.estimator}.")
    if not isinstance(record.schema.target, Classes if estimator._task == "classification" else Range):
        raise ModelFileError(f"the target is not one for {record.estimator}.")
    if record.statistics.ndim != (2 if estimator._leaves_are_labels else 3):
        raise ModelFileError(f"the leaf statistics are not those of {record.estimator}.")
    # A schema that was read off private rows is not passed on as if it had been declared.
    schema = record.schema if record.declared else None
    make: Any = estimator
    given = dict(record.parameters)
    if "class_weight" in given:
        given["class_weight"] = read_weights(given["class_weight"])
    model: PrivateForest = make(**given, schema=schema)
    check_parameters(model, estimator._rules)
    model._check_target(record.schema)
    if record.additive is not None and not model._may_be_additive:
        raise ModelFileError(f"{record.estimator} has no additive part.")
    if (record.leaf_classes is not None) != any(event.mechanism == NAMED for event in record.ledger):
        raise ModelFileError("classes of leaves must be there if the ledger says so, and only then.")
    settings = Settings(record.parameters, record.declared)
    reason = record.guarantee.reason
    stated = promise(record.ledger.plan, settings, [reason] if reason else [])
    if stated != record.guarantee or (stated.epsilon, stated.delta) != (
        settings["epsilon"],
        settings["delta"],
    ):
        raise ModelFileError("the guarantee is not the one that the plan and the parameters give.")
    columns: dict[str, Any] = {"n_features_in_": record.schema.n_features}
    if record.feature_names is not None:
        columns["feature_names_in_"] = np.array(record.feature_names, dtype=object)
    trained = Trained(
        record.trees,
        record.statistics,
        record.leaf_noises,
        record.additive,
        leaf_classes=record.leaf_classes,
    )
    public = record.schema, settings, record.guarantee, columns
    model._keep(PrivateRelease(*public, trained, record.ledger, record.receipt))
    model.signed_by_ = record.signed_by
    _check_votes(model, record)
    return model


def _check_votes(model: PrivateForest, record: ModelRecord) -> None:
    """Kernels add votes up without looking at the bounds of the array either."""
    target = record.schema.target
    n_outputs = target.n_classes if isinstance(target, Classes) else 2
    shape = (record.trees.n_trees, record.trees.n_leaves, n_outputs)
    votes = model.leaf_votes_
    if votes.shape != shape or votes.dtype != np.float64 or not np.isfinite(votes).all():
        raise ModelFileError("the leaf statistics give votes that cannot be counted.")
