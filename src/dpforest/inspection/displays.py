"""Pictures of a fitted forest, in the manner of scikit-learn's displays: `from_estimator`, then `plot`.

Made of the ledger and released values: post-processing, hence free. matplotlib is needed to plot (the extra
``plots``), not to make a display.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from dpforest.inspection.drawing import BLUE, new_axes, plain, printable

_DRAWS = 20  # of noise, to see how far it moves importances
_INCHES_PER_BAR = 0.32


class _Bars:
    """Horizontal bars, the first on top."""

    ax_: Any
    figure_: Any

    def _draw(
        self,
        ax: Any,
        names: list[str],
        lengths: NDArray[np.float64],
        labels: list[str],
        spread: NDArray[np.float64] | None = None,
    ) -> None:
        ax = new_axes(ax, height=1.2 + _INCHES_PER_BAR * max(len(names), 2))
        places = np.arange(len(names))
        lines = {"ecolor": "#333333", "elinewidth": 1.5, "capsize": 3}
        bars = ax.barh(places, lengths, xerr=spread, color=BLUE, height=0.7, error_kw=lines)
        ax.bar_label(bars, labels, padding=3, fontsize=9)
        ax.set_yticks(places, [printable(name) for name in names])
        ax.invert_yaxis()
        ax.margins(x=0.15)
        plain(ax)
        self.ax_, self.figure_ = ax, ax.figure


@dataclass
class BudgetDisplay(_Bars):
    """Where the budget of a fit went, by what was asked.

    Parameters
    ----------
    purposes : list of str
        What was asked, in the order in which it was first asked.
    amounts : ndarray
        Epsilon, or rho, per row, of each. Questions about disjoint parts of the table do not add up.
    symbol : {"epsilon", "rho"}
        What is counted.
    total : float
        The whole budget per row.
    promise : str
        What the model promises.

    Attributes
    ----------
    ax_, figure_ : matplotlib objects
        After `plot`.

    Examples
    --------
    >>> import numpy as np
    >>> from dpforest import PrivateForestClassifier
    >>> from dpforest.inspection import BudgetDisplay
    >>> X = np.random.default_rng(0).random((500, 2))
    >>> model = PrivateForestClassifier(bounds=(0, 1), classes=[0, 1]).fit(X, X[:, 0] > 0.5)
    >>> display = BudgetDisplay.from_estimator(model)
    >>> float(display.amounts.sum()) <= display.total
    True
    """

    purposes: list[str]
    amounts: NDArray[np.float64]
    symbol: str
    total: float
    promise: str = field(default="")

    @classmethod
    def from_estimator(cls, estimator: Any, by_level: bool = False) -> Self:
        """Read the ledger of a fitted forest.

        Parameters
        ----------
        estimator : fitted forest
            Of this library.
        by_level : bool, default=False
            Tell the levels of a tree apart.
        """
        check_is_fitted(estimator, "ledger_")
        plan = estimator.ledger_.plan
        spent: dict[str, Any] = {}
        for event in estimator.ledger_:
            name = event.kind.value
            if by_level and event.level is not None:
                name += f", level {event.level}"
            spent[name] = spent.get(name, 0) + event.cost
        amounts = np.array([float(cost) for cost in spent.values()])
        promise = str(estimator.guarantee_)
        return cls(list(spent), amounts, plan.symbol, float(plan.total), promise)

    def plot(self, ax: Any = None) -> Self:
        """Draw a bar for each, with its share of the budget.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Where to; a new figure by default.
        """
        labels = [f"{100 * amount / self.total:.3g} %" for amount in self.amounts]
        self._draw(ax, self.purposes, self.amounts, labels)
        self.ax_.set_xlabel(f"{self.symbol} per row")
        # to the right, so that a long promise has the width of the names as well
        self.ax_.set_title("Where the budget went\n" + self.promise, fontsize=10, loc="right")
        return self


@dataclass
class ImportanceDisplay(_Bars):
    """How much each feature matters to a forest.

    Parameters
    ----------
    names : list of str
        Features, the most important first.
    importances : ndarray
        Their importances, from released values.
    spread : ndarray or None
        Standard deviation of what noise in the leaves does to them, if that is known; the choice of splits,
        sums over features and boosted rounds hold noise too.

    Attributes
    ----------
    ax_, figure_ : matplotlib objects
        After `plot`.
    """

    names: list[str]
    importances: NDArray[np.float64]
    spread: NDArray[np.float64] | None = None

    @classmethod
    def from_estimator(cls, estimator: Any, most: int = 20, draws: int = _DRAWS) -> Self:
        """Read `feature_importances_` of a fitted forest.

        Parameters
        ----------
        estimator : fitted forest
            Of this library.
        most : int, default=20
            How many features to show.
        draws : int, default=20
            How often noise is drawn to see how far it moves importances; 0 shows no spread.
        """
        check_is_fitted(estimator, "schema_")
        importances = np.asarray(estimator.feature_importances_)
        order = np.argsort(-importances, kind="stable")[:most]
        rng = np.random.default_rng(0)
        others = [estimator._redrawn(rng) for _ in range(draws)]
        moved = [other.feature_importances_ for other in others if other is not None]
        spread = np.std(moved, axis=0)[order] if moved else None
        return cls([estimator.schema_.names[at] for at in order], importances[order], spread)

    def plot(self, ax: Any = None) -> Self:
        """Draw a bar for each feature.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Where to; a new figure by default.
        """
        labels = [f"{value:.2g}" for value in self.importances]
        self._draw(ax, self.names, self.importances, labels, self.spread)
        self.ax_.set_xlabel(
            "importance" + (" and what noise in the leaves does to it" if self.spread is not None else "")
        )
        return self
