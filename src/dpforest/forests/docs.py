"""Docstring sections that every estimator shares, written once and inserted at import."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T", bound=type)

_COMMON = """epsilon : float, default=1.0
        Privacy budget of the whole fit; smaller is more private. Infinity trains without noise: not private.
    delta : float, default=0.0
        0 promises pure epsilon-DP. A positive value switches to zCDP accounting and Gaussian noise.
    schema : Schema or dict, optional
        What is public about the table: bounds, categories, classes.
    bounds : (low, high), optional
        Short form for numeric tables: two numbers, or two arrays with one entry per feature.{target}
    max_depth : int, optional
        Levels of splits. {depth}
    neighboring : {{"add_or_remove_one", "replace_one"}}, default="add_or_remove_one"
        Which tables must be hard to tell apart.
    max_rows_per_person : int, default=1
        Rows that one person may have; m rows are protected together, at m times the noise.
    accountant : BudgetAccountant, optional
        Charged with the whole plan before the first query; refuses when its ceiling would be passed.
    on_leak : {{"raise", "warn"}}, default="raise"
        What to do when no schema is declared: refuse, or read it off the rows and void the guarantee.
    as_published : bool, default=False
        Run the paper's own form instead, which is not private: it warns and voids the guarantee. Parameters
        that the paper does not have, such as `delta`, are refused with it.
    n_jobs : int, optional
        Threads; None means 1, -1 all cores.
    random_state : int, RandomState or None, default=None
        None draws noise from the operating system. Anything else makes the fit repeatable, for tests only:
        it warns and voids the guarantee.
    verbose : int, default=0
        1 prints every query of private rows while fitting, and how much of the plan is spent with it.

    Attributes
    ----------
    guarantee_ : PrivacyGuarantee
        What the model promises, and whether that is proven.
    ledger_ : Ledger
        Every query of private rows, with its mechanism and cost.
    noise_scales_ : dict
        Parameters of the mechanism of every query.
    schema_, trees_, leaf_statistics_ : Schema, FlatTrees, ndarray
        The public description, the released splits and the released noisy leaf statistics.
    leaf_votes_ : ndarray
        What each leaf adds to a prediction.
    settings_ : Settings
        Parameters as they were: what the model says and does later follows from these, not from changes.
    feature_importances_ : ndarray
        From released leaf counts only; not there if the leaves released labels.
    n_features_in_, feature_names_in_ : int, ndarray
        As in scikit-learn.{fitted}"""

_CLASSES = """
    classes : sequence, optional
        Short form: the labels that may occur.
    class_weight : dict, "balanced" or None, default=None
        What `predict` multiplies class probabilities by, for classes that are rare or costly to miss: numbers
        by label (1 where there is none), or one over the released noisy counts. Free, and `predict_proba`
        stays as it is.
    threshold : float, optional
        For two classes: `predict` says the second of `classes_` where its probability is above this."""
_TARGET_BOUNDS = """
    target_bounds : (low, high), optional
        Short form: the range of the target; values outside are clipped."""
_FITTED_CLASSES = """
    classes_ : ndarray
        Declared labels, sorted.
    decision_weights_ : ndarray or None
        What probabilities are multiplied by before the largest decides."""


def shared_parameters(own: str, depth: str, classifier: bool) -> Callable[[T], T]:
    """Class decorator that puts the parameters and attributes in place of ``{parameters}``.

    Parameters
    ----------
    own : str
        Entries of the estimator's own parameters.
    depth : str
        What ``max_depth=None`` does.
    classifier : bool
        Whether the target is classes or a number.
    """

    def insert(cls: T) -> T:
        common = _COMMON.format(
            depth=depth,
            target=_CLASSES if classifier else _TARGET_BOUNDS,
            fitted=_FITTED_CLASSES if classifier else "",
        )
        cls.__doc__ = (cls.__doc__ or "").replace("{parameters}", own.format() + common)
        return cls

    return insert
