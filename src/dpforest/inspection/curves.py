"""Pictures of how well a forest does on rows that are not private: by epsilon, and by what it promises."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.stats import beta
from sklearn.base import clone
from sklearn.metrics import get_scorer
from sklearn.model_selection import train_test_split

from dpforest.inspection.drawing import BLUE, GREY, new_axes, plain, printable

EPSILONS = (0.1, 0.3, 1.0, 3.0, 10.0)
_SURE = 0.95

Floats = NDArray[np.float64]


@dataclass
class EpsilonDisplay:
    """How good models are at each epsilon, and how much they differ from fit to fit.

    Parameters
    ----------
    epsilons : ndarray of shape (n_epsilons,)
        Rising.
    scores : ndarray of shape (n_epsilons, n_repeats)
        Score of every fit.
    name : str
        What is scored.

    Attributes
    ----------
    ax_, figure_ : matplotlib objects
        After `plot`.

    Examples
    --------
    >>> from dpforest.inspection import EpsilonDisplay
    >>> display = EpsilonDisplay(np.array([0.1, 1.0]), np.array([[0.6, 0.7], [0.8, 0.9]]), "accuracy")
    >>> display.scores.mean(axis=1)
    array([0.65, 0.85])
    """

    epsilons: Floats
    scores: Floats
    name: str = "score"

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        epsilons: Sequence[float] = EPSILONS,
        repeats: int = 5,
        scoring: str | None = None,
    ) -> Self:
        """Fit copies of an estimator on two thirds of public or made-up rows and score them on the rest.

        Every copy looks at all rows, so private ones never go in here: it would cost the sum of all epsilons
        and a look at the scores that nobody paid for. Copies have no accountant.

        Parameters
        ----------
        estimator : forest
            Of this library; fitted or not.
        X, y : table and target
            Rows that are **not private**, like the private ones in number and kind.
        epsilons : sequence of float
            Which to try.
        repeats : int
            Fits at each.
        scoring : str, optional
            As in scikit-learn; by default "accuracy", or "r2" for numbers.
        """
        scoring = scoring or ("accuracy" if hasattr(estimator, "predict_proba") else "r2")
        scorer, rising = get_scorer(scoring), sorted(epsilons)
        scores = np.empty((len(rising), repeats))
        for number in range(repeats):
            X_fit, X_score, y_fit, y_score = train_test_split(X, y, test_size=1 / 3, random_state=number)
            for at, epsilon in enumerate(rising):
                model = clone(estimator).set_params(epsilon=epsilon, accountant=None)
                scores[at, number] = scorer(model.fit(X_fit, y_fit), X_score, y_score)
        return cls(np.array(rising, np.float64), scores, scoring)

    def plot(self, ax: Any = None) -> Self:
        """Draw the mean, and a band from the worst fit to the best.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Where to; a new figure by default.
        """
        ax = new_axes(ax)
        lowest, highest = self.scores.min(axis=1), self.scores.max(axis=1)
        ax.fill_between(
            self.epsilons, lowest, highest, color=BLUE, alpha=0.2, linewidth=0, label="worst to best fit"
        )
        ax.plot(self.epsilons, self.scores.mean(axis=1), color=BLUE, marker="o", markersize=5, label="mean")
        ax.set(xscale="log", xlabel="epsilon", ylabel=printable(self.name))
        ax.set_xticks(self.epsilons, [f"{epsilon:g}" for epsilon in self.epsilons])
        ax.minorticks_off()
        ax.legend(loc="lower right", frameon=False)
        plain(ax)
        self.ax_, self.figure_ = ax, ax.figure
        return self


@dataclass
class CalibrationDisplay:
    """Whether what is predicted with a probability happens as often.

    Parameters
    ----------
    predicted, observed : ndarray of shape (n_bins,)
        Mean predicted probability of each bin, and how often it came true.
    rows : ndarray of shape (n_bins,)
        Rows in each bin.
    label : str
        What is predicted.

    Attributes
    ----------
    ax_, figure_ : matplotlib objects
        After `plot`.

    Examples
    --------
    >>> display = CalibrationDisplay.from_predictions([0, 1, 0, 1], [0.1, 0.9, 0.2, 0.8], n_bins=2)
    >>> display.predicted, display.observed
    (array([0.15, 0.85]), array([0., 1.]))
    """

    predicted: Floats
    observed: Floats
    rows: Floats
    label: str = "event"

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, y: Any, *, label: Any = None, n_bins: int = 10) -> Self:
        """Predict rows that are **not private**; `private_score` tells of private ones, for a charge.

        Parameters
        ----------
        estimator : fitted classifier
            Of this library.
        X, y : table and target
            Rows that are not private.
        label : optional
            Which class; by default the last.
        n_bins : int
            Bins of equally many rows.
        """
        known = list(estimator.classes_)
        label = known[-1] if label is None else label
        if label not in known:
            raise ValueError(f"{label!r} is not a class of this model.")
        probabilities = estimator.predict_proba(X)[:, known.index(label)]
        return cls.from_predictions(np.asarray(y) == label, probabilities, label=str(label), n_bins=n_bins)

    @classmethod
    def from_predictions(cls, y_true: Any, y_prob: Any, *, label: str = "event", n_bins: int = 10) -> Self:
        """Compare events with the probabilities that were predicted.

        Parameters
        ----------
        y_true : array-like of shape (n_rows,)
            Whether it happened.
        y_prob : array-like of shape (n_rows,)
            How probable it was said to be.
        label : str
            What is predicted.
        n_bins : int
            Bins of equally many rows.
        """
        happened, said = np.asarray(y_true, np.float64), np.asarray(y_prob, np.float64)
        if len(happened) != len(said) or len(said) == 0:
            raise ValueError("There must be as many events as probabilities, and at least one.")
        parts = np.array_split(np.argsort(said, kind="stable"), min(n_bins, len(said)))
        predicted, observed = (
            np.array([values[part].mean() for part in parts]) for values in (said, happened)
        )
        return cls(predicted, observed, np.array([len(part) for part in parts], np.float64), label)

    def plot(self, ax: Any = None) -> Self:
        """Draw a point for each bin, with the frequencies that 95 % of bins of its rows would show.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Where to; a new figure by default.
        """
        ax = new_axes(ax, 4.6, 4.4)
        hits = self.observed * self.rows
        low, high = (
            beta.ppf(q, hits + 0.5, self.rows - hits + 0.5) for q in (0.5 - _SURE / 2, 0.5 + _SURE / 2)
        )
        spread = np.maximum([self.observed - low, high - self.observed], 0)  # Jeffreys's interval
        ax.plot([0, 1], [0, 1], color=GREY, linestyle="--", linewidth=1, label="as promised")
        ax.errorbar(
            self.predicted, self.observed, spread, fmt="o", color=BLUE, markersize=5, elinewidth=1.2,
            capsize=2, label="rows, 95 % interval",
        )  # fmt: skip
        name = printable(self.label)
        ax.set(xlabel=f"predicted probability of {name}", ylabel=f"part of rows with {name}")
        ax.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), aspect="equal")
        ax.legend(loc="upper left", frameon=False)
        plain(ax)
        self.ax_, self.figure_ = ax, ax.figure
        return self
