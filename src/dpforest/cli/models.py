"""Options that describe a fit, and the estimator they stand for; shared by ``plan`` and ``fit``."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

import dpforest
from dpforest.cli.answers import note
from dpforest.cli.schema import FILE

if TYPE_CHECKING:
    from dpforest.forests.base import PrivateForest
    from dpforest.schema import Schema

    _Named = click.ParamType[str, str]
else:
    _Named = click.ParamType  # newer versions of click let it be subscripted, older ones do not

# The estimator for each kind of target, unless --estimator says otherwise.
DEFAULT_ESTIMATORS = {"Classes": "PrivateForestClassifier", "Range": "PrivateForestRegressor"}
# Parameters with options of their own, and those that would make the model not private.
_NOT_SETTABLE = frozenset(
    {
        *("epsilon", "delta", "neighboring", "max_rows_per_person", "schema", "bounds", "classes"),
        *("target_bounds", "accountant", "n_jobs", "verbose", "on_leak", "as_published", "random_state"),
    }
)
WORD_OF_THE_WRITER = "what the file says about privacy is the word of whoever wrote it"
_T = TypeVar("_T")


class EstimatorName(_Named):
    """A name of the registry; which is read when a name is given, because it takes a second to import."""

    name = "estimator"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the name, if there is such an estimator."""
        from dpforest.forests.registry import ESTIMATORS

        if value not in ESTIMATORS:
            self.fail(f"{value!r} is not one of {', '.join(ESTIMATORS)}.", param, ctx)
        return value


def model_options(command: Callable[..., _T]) -> Callable[..., _T]:
    """Decorate a command with the options that describe a fit."""
    for option in reversed(
        (
            click.option(
                "--schema", "schema_file", type=FILE, required=True, help="What is public about the table."
            ),
            click.option(
                "--target", metavar="NAME", help="Column to predict; default: the one of type class."
            ),
            click.option("--epsilon", type=float, required=True, help="Privacy budget of the fit."),
            click.option("--delta", type=float, default=0.0, show_default=True, help="0 is pure privacy."),
            click.option(
                "--estimator",
                type=EstimatorName(),
                metavar="NAME",
                help="Default: the private forest for the target.",
            ),
            click.option("--trees", type=int, help="Number of trees."),
            click.option("--depth", type=int, help="Levels of splits."),
            click.option(
                "--neighboring",
                type=click.Choice(["add_or_remove_one", "replace_one"]),
                default="add_or_remove_one",
                show_default=True,
                help="What one person may change.",
            ),
            click.option(
                "--rows-per-person",
                type=int,
                default=1,
                show_default=True,
                help="Most rows that one person has.",
            ),
            click.option(
                "--set",
                "settings",
                multiple=True,
                metavar="NAME=VALUE",
                help="Any other parameter of the estimator.",
            ),
        )
    ):
        command = option(command)
    return command


key_option = click.option("--key", type=FILE, help="Public key by which the model must be signed.")


def load_model(path: Path, key: Path | None) -> PrivateForest:
    """Read a model file, and say whose word its promise is.

    Parameters
    ----------
    path : Path
        The file.
    key : Path or None
        The public key by which it must be signed.
    """
    model: PrivateForest = dpforest.load(path, key)
    if model.signed_by_ is None:
        note(f"No --key was given: {WORD_OF_THE_WRITER}.")
    return model


def make_estimator(
    schema: Schema,
    *,
    epsilon: float,
    delta: float,
    estimator: str | None,
    trees: int | None,
    depth: int | None,
    neighboring: str,
    rows_per_person: int,
    settings: tuple[str, ...],
) -> PrivateForest:
    """Return the estimator that the options of `model_options` describe, not yet fitted."""
    if schema.target is None:
        from dpforest.schema import SchemaError

        raise SchemaError("the schema has no target; name the column to predict with --target.")
    if math.isinf(epsilon):
        raise click.UsageError("--epsilon inf would train without noise, which is not private.")
    from dpforest.forests.registry import ESTIMATORS

    name = estimator or DEFAULT_ESTIMATORS[type(schema.target).__name__]
    model = ESTIMATORS[name](
        schema=schema,
        epsilon=epsilon,
        delta=delta,
        neighboring=neighboring,
        max_rows_per_person=rows_per_person,
    )
    given = {"n_estimators": trees, "max_depth": depth}
    chosen: dict[str, Any] = {key: value for key, value in given.items() if value is not None}
    settable = sorted(set(model.get_params(deep=False)) - _NOT_SETTABLE)
    for setting in settings:
        key, equals, text = setting.partition("=")
        if not equals or key not in settable:
            raise click.UsageError(
                f"--set {setting}: {name} takes NAME=VALUE with NAME one of {', '.join(settable)}."
            )
        value = _value(text)
        chosen[key] = _by_label(value, schema) if isinstance(value, dict) else value
    made: PrivateForest = model.set_params(**chosen)
    made.privacy_plan()  # checks the parameters
    return made


def _by_label(weights: dict[str, Any], schema: Schema) -> dict[Any, Any]:
    """Find the labels that JSON, whose keys are texts, means."""
    labels = {str(label): label for label in getattr(schema.target, "labels", ())}
    return {labels.get(key, key): weight for key, weight in weights.items()}


def _value(text: str) -> Any:
    """Read 3, 0.5, true, null or {"ill": 5} as in JSON, and anything else as text."""
    try:
        value = json.loads(text)
    except ValueError:
        return text
    return value if isinstance(value, int | float | bool | dict | None) else text
