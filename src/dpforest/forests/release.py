"""What a fit lets out, and how an estimator takes it over.

The fitted estimator is the release: all that can be reached from it, its pickle, its file. So `fit` works on
local values, and only when everything is there hands all of it over in one step; before the first step it
forgets what an earlier fit left. An interrupt therefore finds a model that is fitted or one that is not,
never half of one under the promise of another. What a model does later follows from here, not from
constructor parameters, which may have been changed since.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, Self, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from dpforest._structure import Additive, FlatTrees
from dpforest.forests.decisions import OPTIONAL, write_weights
from dpforest.forests.parameters import Rule
from dpforest.modelfile.record import Scalar
from dpforest.privacy import BudgetPlan, Ledger, PrivacyGuarantee, Receipt
from dpforest.privacy.exact import float_at_least, read_number
from dpforest.schema import Classes, Schema

T = TypeVar("T", bound="Releasing")

if TYPE_CHECKING:
    from dpforest.papers.published import PublishedForest

# Of the machine or the moment, not of the model.
_NOT_KEPT = frozenset({"n_jobs", "verbose", "as_published"})


@dataclass(frozen=True)
class Settings:
    """How a model was made, as far as that matters afterwards.

    Parameters
    ----------
    parameters : mapping
        Constructor parameters with plain values, as they were.
    declared : bool
        Whether the schema was declared; False if it was read off the private rows.
    seed : int or None
        For models that draw their answers; None draws them from the operating system.
    """

    parameters: Mapping[str, Scalar]
    declared: bool
    seed: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "parameters", MappingProxyType(dict(self.parameters)))

    def __reduce__(self) -> tuple[type[Settings], tuple[object, ...]]:
        # A mapping proxy does not pickle; a copy of what it shows does.
        return Settings, (dict(self.parameters), self.declared, self.seed)

    def __getitem__(self, name: str) -> Scalar:
        return self.parameters[name]

    @property
    def is_noiseless(self) -> bool:
        """Whether the model was trained without noise, hence without privacy."""
        return math.isinf(float(str(self.parameters["epsilon"])))


class Trained(NamedTuple):
    """What a training let out: released by mechanisms, or made of public facts and released values.

    `leaf_noises` has the standard deviation of the noise in the leaf statistics of each tree, 0 if there was
    none; it is empty where that is not one number. `leaf_classes` has the class of every leaf of a single
    tree, if classes were chosen with its cuts.
    """

    trees: FlatTrees
    statistics: NDArray[Any]
    leaf_noises: tuple[float, ...] = ()
    additive: Additive | None = None
    transduction: NDArray[Any] | None = None
    leaf_classes: NDArray[np.int64] | None = None


@dataclass(frozen=True, eq=False)
class Release:
    """What every fitted model keeps.

    Parameters
    ----------
    schema : Schema
        What was declared public.
    settings : Settings
        How it was made.
    guarantee : PrivacyGuarantee
        What it promises.
    columns : mapping
        Number and names of the columns, as `columns_of` has them.
    """

    schema: Schema
    settings: Settings
    guarantee: PrivacyGuarantee
    columns: Mapping[str, Any]

    def attributes(self) -> dict[str, Any]:
        """Return the fitted attributes."""
        fitted = {
            **self.columns,
            "schema_": self.schema,
            "settings_": self.settings,
            "guarantee_": self.guarantee,
        }
        if isinstance(self.schema.target, Classes):
            fitted["classes_"] = np.asarray(self.schema.target.labels)
        return fitted


@dataclass(frozen=True, eq=False)
class PrivateRelease(Release):
    """A model as its mechanisms released it.

    Parameters
    ----------
    schema, settings, guarantee, columns
        As in `Release`.
    trained : Trained
        Splits, leaf statistics and what stands beside them.
    ledger : Ledger
        Every query, and the plan that paid.
    receipt : Receipt or None
        Where its charge stands; None if nobody was charged.
    """

    trained: Trained
    ledger: Ledger
    receipt: Receipt | None = None

    @property
    def trees(self) -> FlatTrees:
        """Released splits."""
        return self.trained.trees

    @property
    def statistics(self) -> NDArray[Any]:
        """Released leaf statistics."""
        return self.trained.statistics

    def attributes(self) -> dict[str, Any]:
        """Return the fitted attributes, all but what the estimator makes of the leaf statistics."""
        trained = self.trained
        fitted = super().attributes() | {
            "trees_": trained.trees,
            "leaf_statistics_": trained.statistics,
            "additive_": trained.additive,
            "ledger_": self.ledger,
            "receipt_": self.receipt,
            "signed_by_": None,
            "leaf_noises_": trained.leaf_noises,
            "leaf_classes_": trained.leaf_classes,
            "noise_scales_": _scales(self.ledger),
        }
        return fitted | _transduced(trained.transduction)


@dataclass(frozen=True, eq=False)
class PublishedRelease(Release):
    """A model that a paper's own form made; not private.

    Parameters
    ----------
    schema, settings, guarantee, columns
        As in `Release`.
    forest : PublishedForest
        The model.
    transduction : ndarray or None
        Predicted labels of the unlabelled rows.
    """

    forest: PublishedForest
    transduction: NDArray[Any] | None = None

    def attributes(self) -> dict[str, Any]:
        """Return the fitted attributes."""
        return super().attributes() | {"published_": self.forest} | _transduced(self.transduction)


class Releasing(BaseEstimator):
    """An estimator that holds one release, or none."""

    guarantee_: PrivacyGuarantee
    schema_: Schema
    settings_: Settings
    n_features_in_: int
    feature_names_in_: NDArray[Any]
    classes_: NDArray[Any]
    trees_: FlatTrees
    leaf_statistics_: NDArray[Any]
    leaf_noises_: tuple[float, ...]
    leaf_classes_: NDArray[np.int64] | None
    leaf_votes_: NDArray[np.float64]
    decision_weights_: NDArray[np.float64] | None
    additive_: Additive | None
    transduction_: NDArray[Any]
    ledger_: Ledger
    receipt_: Receipt | None
    signed_by_: str | None
    noise_scales_: dict[str, dict[str, Any]]
    published_: PublishedForest

    def _votes(self, release: PrivateRelease) -> NDArray[np.float64]:
        """Turn leaf statistics into what each leaf adds to a prediction; by default the statistics."""
        return release.statistics.astype(np.float64)

    def _attributes(self, release: PrivateRelease) -> dict[str, Any]:
        """Return fitted attributes that the estimator makes of a release."""
        return {"leaf_votes_": self._votes(release)}

    def _forget(self) -> None:
        """Drop everything that an earlier fit left, in one step."""
        self.__dict__ = self._unfitted_copy().__dict__

    def _unfitted_copy(self) -> Self:
        """Return another object with these parameters: what is set on it does not show here."""
        copy: Self = object.__new__(type(self))
        copy.__dict__.update({name: value for name, value in vars(self).items() if not name.endswith("_")})
        return copy

    def _keep(self, release: Release) -> Self:
        """Become the fitted model, in one step."""
        fitted = release.attributes()
        if isinstance(release, PrivateRelease):
            fitted |= self._attributes(release)
        # One step: an interrupt comes before or after it, and nothing stays of what another thread, fitting
        # the same object, may have kept in between.
        self.__dict__ = self._unfitted_copy().__dict__ | fitted
        return self

    def _redrawn(self, rng: np.random.Generator) -> Self | None:
        """Return the model with noise in its leaves once more, to tell how far noise moves what it says.

        None where the noise of leaves is not one number per tree, or there is none.
        """
        released, sds = self.leaf_statistics_, np.array(self.leaf_noises_)
        if not sds.any() or released.ndim != 3:
            return None
        noise = np.rint(rng.normal(size=released.shape) * sds[:, None, None]).astype(np.int64)
        trained = Trained(
            self.trees_, released + noise, self.leaf_noises_, self.additive_, leaf_classes=self.leaf_classes_
        )
        public = self.schema_, self.settings_, self.guarantee_
        return self._unfitted_copy()._keep(PrivateRelease(*public, {}, trained, self.ledger_))

    @property
    def _is_published(self) -> bool:
        """Whether the fitted model is a paper's own form."""
        return hasattr(self, "published_")


def promise(plan: BudgetPlan, settings: Settings, voids: list[str]) -> PrivacyGuarantee:
    """State what a model promises, or why it promises nothing.

    Parameters
    ----------
    plan : BudgetPlan
        What was spent.
    settings : Settings
        Tells whether there was noise.
    voids : list of str
        Reasons why nothing is promised.
    """
    guarantee = plan.guarantee
    for reason in voids:
        guarantee = guarantee.voided(reason)
    return replace(guarantee, epsilon=math.inf) if settings.is_noiseless else guarantee


def kept_parameters(estimator: Any, rules: Mapping[str, Rule]) -> dict[str, Scalar]:
    """Values of the parameters that have rules, which are those with plain values.

    Parameters
    ----------
    estimator : estimator
        Whose parameters.
    rules : mapping
        Its rules.
    """
    given = estimator.get_params(deep=False)
    kept = {name: _plain(given[name]) for name in sorted(set(given) & set(rules) - _NOT_KEPT)}
    kept = {name: value for name, value in kept.items() if value is not None or name not in OPTIONAL}
    if isinstance(given.get("class_weight"), Mapping):
        kept["class_weight"] = write_weights(given["class_weight"])
    for name in ("epsilon", "delta"):  # whatever kind of number was given, never below what is spent
        if not math.isinf(given[name]):
            kept[name] = float_at_least(read_number(given[name], name))
    return kept


def plain_copy(estimator: T, rules: Mapping[str, Rule]) -> T:
    """Copy an estimator without what was fitted, its numbers as Python's own, but for the budget itself.

    Parameters
    ----------
    estimator : estimator
        Whom to copy.
    rules : mapping
        Rules of its parameters.
    """
    copy = estimator._unfitted_copy()
    exact = {name: vars(copy)[name] for name in ("epsilon", "delta")}
    copy.__dict__.update({name: _plain(value) for name, value in vars(copy).items() if name in rules} | exact)
    return copy


def _plain(value: Any) -> Scalar:
    if isinstance(value, bool | np.bool_):
        return bool(value)
    if isinstance(value, numbers.Integral):
        return int(value)
    return float(value) if isinstance(value, numbers.Real | Decimal) else value


def _scales(ledger: Ledger) -> dict[str, dict[str, Any]]:
    """Parameters of the mechanism of every query; one that was asked before gets a number."""
    scales: dict[str, dict[str, Any]] = {}
    for event in ledger:
        name, number = event.purpose, 1
        while name in scales:
            number += 1
            name = f"{event.purpose} ({number})"
        scales[name] = dict(event.parameters)
    return scales


def _transduced(labels: NDArray[Any] | None) -> dict[str, Any]:
    return {} if labels is None else {"transduction_": labels}
