"""The shared `fit`: the whole way of the data, from private rows to a released forest, on one screen.

Estimators say how to divide the budget (`_pools`), grow (`_grow`) and fill (`_fill`), or do both in `_train`;
everything that makes the result private happens here and in `dpforest._curator`.
"""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Mapping
from dataclasses import field
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from dpforest._curator import Curator, Noisy, Part, PrivateTable
from dpforest._structure import FlatTrees
from dpforest._trees import class_probabilities, feature_importances, sum_leaf_values, target_means
from dpforest.forests.charging import Charging, check_lock
from dpforest.forests.decisions import OPTIONAL, check_decision, decision_weights, read_weights
from dpforest.forests.declare import check_columns, columns_of, declare, declared_names, undeclared
from dpforest.forests.foresight import Foreseeing
from dpforest.forests.parameters import (
    COMMON_RULES,
    MAX_DEPTH,
    MAX_THREADS,
    Rule,
    check_parameters,
    choice,
    parameters,
    whole,
)
from dpforest.forests.progress import Progress
from dpforest.forests.release import (
    PrivateRelease,
    PublishedRelease,
    Release,
    Releasing,
    Settings,
    Trained,
    kept_parameters,
    plain_copy,
    promise,
)
from dpforest.forests.walking import Walking
from dpforest.mechanisms import RandomWords
from dpforest.modelfile import ModelFileError
from dpforest.privacy import (
    BudgetAccountant,
    BudgetPlan,
    LeftBehind,
    NeighboringRelation,
    Pool,
    PrivacyLeakWarning,
)
from dpforest.schema import Schema
from dpforest.schema.door import read_cells
from dpforest.schema.places import named_target, stream_of

if TYPE_CHECKING:
    from dpforest.papers.published import Domain, PublishedForest

NO_PAPER_HAS = OPTIONAL | {"delta", "max_rows_per_person", "neighboring"}


@parameters
class PrivateForest(Charging, Foreseeing, Releasing, Walking):
    """What all private forests share; see the estimators for parameters.

    Attributes
    ----------
    guarantee_ : PrivacyGuarantee
        What the fitted model promises, and whether the promise is proven.
    ledger_ : Ledger
        Every query of private rows: what for, mechanism, cost.
    noise_scales_ : dict
        For every query, by its purpose, the parameters of its mechanism.
    schema_ : Schema
        What was declared public.
    trees_ : FlatTrees
        Released splits.
    leaf_statistics_ : ndarray
        Released noisy leaf statistics; all predictions follow from them.
    leaf_noises_ : tuple of float
        Standard deviation of the noise in the leaf statistics of each tree; empty if there is not one.
    leaf_classes_ : ndarray or None
        Released class of every leaf, where classes were chosen with the cuts.
    leaf_votes_ : ndarray
        What each leaf adds to a prediction.
    additive_ : Additive or None
        Released scores that are summed over features, if the model has such a part.
    receipt_ : Receipt or None
        Where its charge stands in the record of a budget; None if nobody was charged.
    signed_by_ : str or None
        Fingerprint of the key under which the model was loaded; None otherwise.
    settings_ : Settings
        Parameters as they were at the fit; what the model does follows from these.
    n_features_in_, feature_names_in_ : int, ndarray
        As in scikit-learn.
    """

    _task: ClassVar[str]
    _published: ClassVar[str]  # name of the paper's own form in `dpforest.papers.published`
    _rules: ClassVar[dict[str, Rule]] = COMMON_RULES
    _published_depth: ClassVar[int] = MAX_DEPTH  # deepest trees of the paper's own form
    _not_published: ClassVar[frozenset[str]] = frozenset()  # more parameters that the paper's own form lacks
    _leaves_are_labels: ClassVar[bool] = False  # whether leaves release one label each instead of counts
    _may_be_additive: ClassVar[bool] = False  # whether a sum over features may stand beside the trees
    _is_transductive: ClassVar[bool] = False  # whether unlabelled rows get labels, as `transduction_`

    n_estimators: Any = field(default=10, kw_only=False)
    epsilon: float = 1.0
    delta: float = 0.0
    schema: Schema | None = None
    bounds: Any = None
    max_depth: int | None = None
    neighboring: str = "add_or_remove_one"
    max_rows_per_person: int = 1
    accountant: BudgetAccountant | LeftBehind | None = None
    on_leak: str = "raise"
    as_published: bool = False
    n_jobs: int | None = None
    random_state: Any = None
    verbose: int = 0

    # --- what an estimator says about itself -----------------------------------------------------------

    def _pools(self) -> list[Pool]:
        """Divide the budget: named shares, fixed before the first query."""
        raise NotImplementedError

    def _columns(self, schema: Schema, words: RandomWords) -> Schema:
        """Add public functions of the features as further columns; by default none."""
        return schema

    def _train(self, curator: Curator) -> Trained:
        """Ask everything that the model needs: first splits, then leaves."""
        trees = self._grow(curator)
        leaves = self._fill(curator, trees)
        return Trained(trees, leaves.values, (leaves.sd,) * trees.n_trees)

    def _grow(self, curator: Curator) -> FlatTrees:
        """Choose the splits, with or without asking the curator."""
        raise NotImplementedError

    def _fill(self, curator: Curator, trees: FlatTrees) -> Noisy:
        """Ask the curator for leaf statistics."""
        raise NotImplementedError

    def _publish(
        self, X: NDArray[np.float64], y: NDArray[Any], domain: Domain, rng: np.random.Generator
    ) -> PublishedForest:
        """Run the paper's own form, which is not private."""
        from dpforest.papers import published

        form = getattr(published, self._published)
        forest: PublishedForest = form(
            X, y, domain, rng, epsilon=float(self.epsilon), **self._paper_options()
        )
        return forest

    def _paper_options(self) -> dict[str, Any]:
        """Name what the paper's own form takes besides the budget."""
        return {"n_trees": self.n_estimators, "max_depth": self.max_depth}

    # --- the way of the data ---------------------------------------------------------------------------

    def privacy_plan(self) -> BudgetPlan:
        """Tell what `fit` will spend, by purpose. Needs no data."""
        check_parameters(self, self._rules_of_form())
        return BudgetPlan.divide(
            1.0 if math.isinf(self.epsilon) else self.epsilon,  # without noise only the shares mean anything
            self.delta,
            plain_copy(self, self._rules)._pools(),
            relation=self._relation(),
            max_rows_per_person=self.max_rows_per_person,
        )

    def _rules_of_form(self) -> dict[str, Rule]:
        """Rules of the parameters; with the paper's own form it may go deeper and must know what is asked."""
        if not self.as_published:
            return self._rules
        defaults = type(self)().get_params(deep=False)
        only = {
            name: (f"{defaults[name]!r}: the paper's own form knows no other", choice(defaults[name])[1])
            for name in (self._not_published | NO_PAPER_HAS) & set(defaults)
        }
        return {**self._rules, "max_depth": whole(0, self._published_depth, or_none=True), **only}

    def _relation(self) -> NeighboringRelation:
        return NeighboringRelation[self.neighboring.upper()]

    def fit(self, X: Any, y: Any, **refused: Any) -> Self:
        """Train on private rows and keep only what the mechanisms released.

        Parameters
        ----------
        X : data frame or array of shape (n_rows, n_features), or a place
            Private features. Data frames are matched to the schema by column name. A place is a file, a
            folder, a pattern such as ``"visits/*.parquet"``, an Arrow dataset, a lazy frame or a data
            frame of dask or Spark, perhaps larger than memory; see `dpforest.schema.Source`.
        y : array-like of shape (n_rows,), or str
            Private target; of a place, the name of its column.
        **refused
            Nothing else is taken. A `sample_weight` would multiply what one row can change, and the noise
            with it, by the largest weight.

        Returns
        -------
        self
        """
        refuse(type(self).__name__, refused)
        return self._trained(X, y)

    def _trained(self, X: Any, y: Any, **known: Any) -> Self:
        """Forget an earlier fit, train a copy that knows some more, and take over what it releases."""
        self._forget()
        copied = plain_copy(self, self._rules)
        copied.__dict__.update(known)
        return self._keep(copied._trained_on(X, y))

    def _trained_on(self, X: Any, y: Any, part: Part | None = None) -> Release:
        """Take the rows, or a part of them, all the way.

        Called on a copy, so that nothing can be left behind on the way.
        """
        plan, voids = self.privacy_plan(), self._voids()
        payer = self._payer(voids)
        X, y = named_target(X, y, declared_names(self))
        schema, settings = declare(self, X, y, self._task), self._settings()
        self._check_target(schema)
        check_lock(payer, schema, getattr(y, "name", None))
        columns, guarantee = columns_of(X, schema), promise(plan, settings, voids)
        if self.as_published:
            if stream_of(X) is not None:
                raise TypeError("as_published needs a table in memory: read it first.")
            public = Release(schema, settings, guarantee, columns)
            return self._published_release(X, y, public)
        words = self._random_words(settings.seed)
        schema = self._columns(schema, words)
        self._foresee(plan, schema)
        table = PrivateTable(X, y, schema, self._n_threads(), part)
        del X, y
        self._check_rows(table)
        with self._open(table, plan, words) as curator, self._spend(payer, plan) as charge:
            charge.follow(curator.ledger)
            trained = self._train(curator)
        charge.check_process()
        return PrivateRelease(schema, settings, guarantee, columns, trained, curator.ledger, charge.receipt)

    def _check_target(self, schema: Schema) -> None:
        """Refuse parameters that do not fit the declared target, before anything is charged."""

    def _check_rows(self, table: PrivateTable) -> None:
        """Refuse rows that can only be added up where the training looks at public features of all rows."""
        if self._relation() is NeighboringRelation.LABEL_CHANGE and not table.has_all_rows:
            raise TypeError(
                f"{type(self).__name__} looks at all rows at once where their features are public, and these "
                "rows can only be added up: give a table in memory. Nothing was charged."
            )

    def _open(self, table: PrivateTable, plan: BudgetPlan, words: RandomWords) -> Curator:
        """Give the rows to a curator; nothing is asked yet."""
        show = Progress(type(self).__name__, plan) if self.verbose else None
        noiseless = math.isinf(self.epsilon)
        return Curator(table, plan, words, show, noiseless, one_against_rest=self._one_against_rest)

    def _n_threads(self) -> int:
        return min(int(effective_n_jobs(self.n_jobs)), MAX_THREADS)

    def _voids(self) -> list[str]:
        """Reasons in the parameters why nothing is promised."""
        found = []
        derived = undeclared(self, self._task)
        if derived and self.on_leak == "warn":
            found.append(f"{' and '.join(derived)} derived from the private rows")
        if self.random_state is not None:
            found.append("random_state makes the noise predictable: testing only")
        if math.isinf(self.epsilon):
            found.append("epsilon=inf: trained without noise, not private")
        if self.as_published:
            from dpforest.papers.published import promises

            broken = "; ".join(promise.what for promise in promises(self._published, self._task))
            found.append(f"as published: {broken}")
        return found

    def _settings(self) -> Settings:
        """Note how the model is being made."""
        seed = None
        if self.random_state is not None:
            seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        declared = not undeclared(self, self._task)
        return Settings(kept_parameters(self, self._rules), declared, seed)

    def _published_release(self, X: Any, y: Any, public: Release) -> PublishedRelease:
        """Run the paper's own form on the raw rows; nothing is promised and nothing can be charged."""
        from dpforest.papers.published import domain_of, raw_matrix, raw_target, reasons

        broken = reasons(self._published, self._task)
        warnings.warn(
            f"{type(self).__name__} runs as published and is not private: {broken} "
            "See docs/explanation/broken-promises.md for the counterexamples.",
            PrivacyLeakWarning,
            stacklevel=4,
        )
        schema, rng = public.schema, np.random.default_rng(public.settings.seed)
        rows, target = raw_matrix(X, schema), raw_target(y, schema)
        forest, transduction = self._publish(rows, target, domain_of(schema), rng), None
        if self._is_transductive:
            predicted = forest.votes(rows[target < 0]).argmax(axis=1)
            transduction = np.asarray(schema.classes.labels)[predicted]
        return PublishedRelease(**vars(public), forest=forest, transduction=transduction)

    def _random_words(self, seed: int | None) -> RandomWords:
        """Noise from the operating system, unless a seed asks for a repeatable test run."""
        if seed is None:
            return RandomWords.system()
        warnings.warn(
            f"{type(self).__name__}: random_state makes the noise predictable, so this model is for testing "
            "only and its guarantee is void. Leave random_state=None to train a private model.",
            PrivacyLeakWarning,
            stacklevel=4,
        )
        return RandomWords.seeded(seed)

    # --- after the release -----------------------------------------------------------------------------

    def _sum_votes(self, X: Any) -> NDArray[np.float64]:
        """Sum the votes of the leaves that each new row meets."""
        check_is_fitted(self)
        if self._is_published:
            from dpforest.papers.published import raw_matrix

            return self.published_.votes(raw_matrix(X, self.schema_))
        n_threads = self._n_threads()
        blocks = read_cells(X, self.schema_, owner=type(self).__name__, n_threads=n_threads)
        votes = [self._sum_parts(cells, n_threads) for cells in blocks]
        # A declared schema matches columns by name in any order; scikit-learn insists on the order of fit.
        if not self.settings_.declared:
            check_columns(self, X)
        if votes:
            return np.concatenate(votes)
        nothing = np.empty((0, self.schema_.n_columns), self.schema_.cell_type)
        return self._sum_parts(nothing, n_threads)

    def _sum_parts(self, cells: NDArray[Any], n_threads: int) -> NDArray[np.float64]:
        """Sum the votes of all parts of the model on encoded rows."""
        return sum_leaf_values(self.trees_, self.leaf_votes_, cells, n_threads)

    def _answers(self, votes: NDArray[np.float64]) -> NDArray[np.float64]:
        """Turn summed votes into class probabilities, or into numbers."""
        raise NotImplementedError

    def save(self, path: str | os.PathLike[str], key: str | os.PathLike[str] | None = None) -> None:
        """Write the fitted model as JSON: released values and public facts only, no pickle.

        Parameters
        ----------
        path : str or path
            Where to. An existing file is replaced, as by ``joblib.dump``; the command line asks for
            ``--overwrite``. A crash leaves the old file or the new one, never a part.
        key : str or path, optional
            File of the private key that signs the model, as ``dpforest keys create`` makes it.

        Raises
        ------
        ModelFileError
            If the model was run as published (it holds values that were never released) or is too large.
        """
        from dpforest.forests import saved

        saved.save(self, path, key)

    def report(
        self,
        path: str | os.PathLike[str],
        title: str = "Model card",
        *,
        public: tuple[Any, Any] | None = None,
        by: str | None = None,
        paid: Mapping[str, Any] | None = None,
    ) -> None:
        """Write the model card: one HTML page of released values and public facts.

        Parameters
        ----------
        path : str or path
            Where to; an existing file is replaced, as by `save`.
        title : str
            Heading of the page.
        public : (X, y), optional
            Rows that are **not** private, to score.
        by : str, optional
            Nominal column: scores of public rows for each of its categories, too.
        paid : mapping from str to PrivateScore, optional
            Scores of private rows, by the name of their group: what `dpforest.private_score` returned, or a
            list of these. Of a confusion matrix the accuracy and its baseline are told.
        """
        from dpforest.modelfile.files import write_file
        from dpforest.report import card, collect

        check_is_fitted(self)
        write_file(path, card(collect(self, public, by, paid=paid), title).encode())

    @classmethod
    def load(cls, path: str | os.PathLike[str], key: str | os.PathLike[str] | None = None) -> Self:
        """Read a model of this class that `save` wrote; `dpforest.load` reads any class.

        Parameters
        ----------
        path : str or path
            The file; it may come from anyone, loading runs no code from it.
        key : str or path, optional
            File of the public key whose signature is demanded.

        Raises
        ------
        ModelFileError
            If it is not a valid model file, or holds a model of another class.
        """
        from dpforest.forests import saved

        model = saved.load(path, key)
        if not isinstance(model, cls):
            raise ModelFileError(f"{os.fspath(path)} holds a {type(model).__name__}: use dpforest.load.")
        return model

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """Decrease of impurity by the splits of each feature, less what noise adds; of released values."""
        check_is_fitted(self)
        if self._is_published or self.leaf_statistics_.ndim != 3:
            raise AttributeError("feature_importances_ needs released leaf counts, which this model has not.")
        row = 1 if self._task == "classification" else self.schema_.range.levels
        found = feature_importances(
            self.trees_, self.leaf_statistics_, self.schema_.n_columns, self.leaf_noises_, row
        )
        return self.schema_.share_out(found)

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        """Show the promise in notebooks, which ask for this before they ask for HTML."""
        return {"text/plain": repr(self), "text/html": self._repr_html_()}

    def _repr_html_(self) -> str:
        """Put the promise, or before `fit` the plan, above scikit-learn's diagram."""
        stated = self.guarantee_ if hasattr(self, "guarantee_") else self.privacy_plan()
        return stated._repr_html_() + str(super()._repr_html_())

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        return tags


@parameters
class PrivateForestClassifierBase(ClassifierMixin, PrivateForest):
    """Class votes from leaf histograms."""

    classes: Any = None
    class_weight: Any = None
    threshold: float | None = None

    _task: ClassVar[str] = "classification"

    @property
    def _counts_classes(self) -> bool:
        """Whether leaf statistics are noisy counts of the classes."""
        return not self._leaves_are_labels

    def _check_target(self, schema: Schema) -> None:
        wanted = self.class_weight, self.threshold
        check_decision(type(self).__name__, *wanted, schema.classes, self._counts_classes)

    def _attributes(self, release: PrivateRelease) -> dict[str, Any]:
        settings, counts = release.settings.parameters, None
        if self._counts_classes and release.statistics.ndim == 3:
            counts = release.statistics.sum(axis=(0, 1), dtype=np.float64)
        weight = read_weights(settings.get("class_weight"))
        threshold: Any = settings.get("threshold")
        decided = decision_weights(weight, threshold, release.schema.classes, counts)
        return super()._attributes(release) | {"decision_weights_": decided}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # on the few hundred rows of scikit-learn's checks noise wins
        tags.classifier_tags.poor_score = True
        return tags

    def _fill(self, curator: Curator, trees: FlatTrees) -> Noisy:
        return curator.leaf_histograms("leaves", trees)

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Class probabilities, in the order of `classes_`.

        Parameters
        ----------
        X : data frame or array of shape (n_rows, n_features)
            New rows.

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
        """
        return self._answers(self._sum_votes(X))

    def predict_log_proba(self, X: Any) -> NDArray[np.float64]:
        """Logarithms of the class probabilities, in the order of `classes_`.

        Parameters
        ----------
        X : data frame or array of shape (n_rows, n_features)
            New rows.

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
            Minus infinity where a probability is 0.
        """
        with np.errstate(divide="ignore"):
            logarithms: NDArray[np.float64] = np.log(self.predict_proba(X))
        return logarithms

    def _answers(self, votes: NDArray[np.float64]) -> NDArray[np.float64]:
        return class_probabilities(votes)

    def predict(self, X: Any) -> NDArray[Any]:
        """Most probable class of each row, or what `class_weight` or `threshold` make of probabilities.

        Parameters
        ----------
        X : data frame or array of shape (n_rows, n_features)
            New rows.

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        votes = self._sum_votes(X)
        weights = None if self._is_published else self.decision_weights_
        scores = votes if weights is None else self._answers(votes) * weights
        best: NDArray[Any] = scores.argmax(axis=1)
        return np.take(self.classes_, best)


@parameters
class PrivateForestRegressorBase(RegressorMixin, PrivateForest):
    """Means from soft leaf histograms."""

    target_bounds: Any = None

    _task: ClassVar[str] = "regression"

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # on the few hundred rows of scikit-learn's checks noise wins
        tags.regressor_tags.poor_score = True
        return tags

    def _fill(self, curator: Curator, trees: FlatTrees) -> Noisy:
        return curator.leaf_soft_histograms("leaves", trees)

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Predicted target of each row.

        Parameters
        ----------
        X : data frame or array of shape (n_rows, n_features)
            New rows.

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        votes = self._sum_votes(X)
        return votes[:, 0] if self._is_published else self._answers(votes)

    def _answers(self, votes: NDArray[np.float64]) -> NDArray[np.float64]:
        return self.schema_.range.decode(self._levels(votes))

    def _levels(self, votes: NDArray[np.float64]) -> NDArray[np.float64]:
        """Turn summed votes into levels of the target."""
        levels = self.schema_.range.levels
        everything = self.leaf_statistics_.sum(axis=(0, 1), dtype=np.float64)[None]
        overall = target_means(everything, levels, fallback=levels / 2)[0]
        return target_means(votes, levels, fallback=overall)


def refuse(owner: str, given: dict[str, Any]) -> None:
    """Refuse further arguments of `fit`; weights with the reason."""
    given = {name: value for name, value in given.items() if name != "sample_weight" or value is not None}
    if "sample_weight" in given:
        raise TypeError(
            f"{owner}.fit takes no sample_weight: a weight multiplies how much one row can change, so all "
            "noise would have to grow with the largest weight. Nothing was read and nothing was charged."
        )
    if given:
        raise TypeError(f"{owner}.fit() got an unexpected keyword argument {next(iter(given))!r}")
