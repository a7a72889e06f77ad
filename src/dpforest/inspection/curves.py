"""Pictures of how well a forest does on rows that are not private: by epsilon, and by what it promises."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.stats import beta

from dpforest.inspection.drawing import BLUE, GREY, new_axes, plain, printable

_SURE = 0.95

Floats = NDArray[np.float64]


@dataclass
class EpsilonDisplay:
    """How good models are at each epsilon, and how much they differ from fit to fit.

    Parameters
    ----------
    epsilons, means, lowest, highest : ndarray of shape (n_epsilons,)
        Rising epsilons; mean, lowest and highest score of several fits at each.
    score : str
        What is scored.
    marks : dict of str to float
        Scores to compare with: of guessing, of models without privacy.

    Attributes
    ----------
    ax_, figure_ : matplotlib objects
        After `plot`.

    Examples
    --------
    >>> from dpforest import PrivateForestClassifier, simulate
    >>> from dpforest.inspection import EpsilonDisplay
    >>> from dpforest.schema import Classes, Numeric, Schema
    >>> model = PrivateForestClassifier(schema=Schema({"age": Numeric(18, 100)}, Classes(["home", "died"])))
    >>> display = EpsilonDisplay.from_simulation(simulate(model, 2000, epsilons=[0.1, 10], repeats=2))
    >>> display.epsilons, sorted(display.marks)
    (array([ 0.1, 10. ]), ['guessing', 'no privacy'])
    """

    epsilons: Floats
    means: Floats
    lowest: Floats
    highest: Floats
    score: str = "score"
    marks: Mapping[str, float] = field(default_factory=dict)

    @classmethod
    def from_simulation(cls, simulation: Any) -> Self:
        """Take what `dpforest.simulate` found on public or made-up rows.

        Parameters
        ----------
        simulation : Simulation
            Scores at several epsilons.
        """
        *private, without = sorted(simulation.lines)  # epsilon is infinite in the last
        epsilons, means, lowest, highest = np.array(private).T
        marks = {"guessing": simulation.guess, "no privacy": without.mean}
        return cls(epsilons, means, lowest, highest, simulation.score, marks)

    def plot(self, ax: Any = None) -> Self:
        """Draw the mean, a band from the worst fit to the best, and what to compare with.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Where to; a new figure by default.
        """
        ax = new_axes(ax)
        band = {"color": BLUE, "alpha": 0.2, "linewidth": 0, "label": "worst to best fit"}
        ax.fill_between(self.epsilons, self.lowest, self.highest, **band)
        ax.plot(self.epsilons, self.means, color=BLUE, marker="o", markersize=5, label="mean")
        for (name, value), style in zip(self.marks.items(), (":", "--"), strict=False):
            ax.axhline(value, color=GREY, linewidth=1.2, linestyle=style, label=printable(name), zorder=0)
        ax.set(xscale="log", xlabel="epsilon", ylabel=printable(self.score))
        ax.set_xticks(self.epsilons, [f"{epsilon:g}" for epsilon in self.epsilons])
        ax.minorticks_off()
        ax.legend(frameon=False, fontsize=9)
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
