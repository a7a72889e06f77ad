"""A picture of what each feature adds to predictions, with the noise in it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from dpforest._trees.explaining import outputs_of
from dpforest._trees.shapes import shape_of
from dpforest.inspection.drawing import BLUE, GREY, plain, printable
from dpforest.schema import Date, Feature, Numeric, Ordinal

DRAWS = 20  # of noise, to see how far it moves a shape
_ACROSS = 3
_MOST_LEVELS = 12  # of a list, that are drawn
_DAY = 86_400.0


class Shape(NamedTuple):
    """What the cells of one feature add, and the standard deviation of the leaves' noise in it, if known."""

    feature: Feature
    values: NDArray[np.float64]
    noise: NDArray[np.float64] | None


@dataclass
class ShapeDisplay:
    """What each feature adds to predictions, value by value.

    Parameters
    ----------
    shapes : dict of str to Shape
        By feature, the most important first.
    output : str
        What is added to, as `explain` names it.

    Attributes
    ----------
    axes_, figure_ : matplotlib objects
        After `plot`.

    Examples
    --------
    >>> import numpy as np
    >>> from dpforest import PrivateForestRegressor
    >>> from dpforest.inspection import ShapeDisplay
    >>> X = np.random.default_rng(0).random((5000, 2))
    >>> model = PrivateForestRegressor(epsilon=8.0, bounds=(0, 1), target_bounds=(0, 1)).fit(X, X[:, 1])
    >>> values = ShapeDisplay.from_estimator(model).shapes["x1"].values
    >>> bool(values[10] < values[128] < values[240])
    True
    """

    shapes: dict[str, Shape]
    output: str

    @classmethod
    def from_estimator(
        cls, estimator: Any, features: Sequence[str] | None = None, output: int = -1, draws: int = DRAWS
    ) -> Self:
        """Read the shapes off a fitted forest: exact for what it released, and free.

        Bands are twice the standard deviation of the noise in the leaves, where that was released; sums over
        features and boosted rounds hold noise too, of which nothing is drawn.

        Parameters
        ----------
        estimator : fitted forest
            Of this library.
        features : sequence of str, optional
            Which features; by default the six that move predictions most.
        output : int
            Which output of `explain`; by default the last.
        draws : int
            How often noise is drawn to see how far it moves the shapes; 0 draws no band.
        """
        check_is_fitted(estimator, "trees_")
        names = list(estimator.schema_.names)
        rng = np.random.default_rng(0)
        others = [estimator._redrawn(rng) for _ in range(draws)]
        others = [other for other in others if other is not None]
        chosen = names if features is None else list(features)
        if unknown := [name for name in chosen if name not in names]:
            raise ValueError(f"{unknown[0]!r} is not a feature of this model.")
        values = {name: shape_of(estimator, names.index(name))[:, output] for name in chosen}
        if features is None:
            chosen = sorted(values, key=lambda name: -np.ptp(values[name]))[: 2 * _ACROSS]
        shapes = {}
        for name in chosen:
            moved = [shape_of(other, names.index(name))[:, output] for other in others]
            noise = np.std(moved, axis=0) if moved else None
            shapes[name] = Shape(estimator.schema_.features[name], values[name], noise)
        return cls(shapes, outputs_of(estimator)[0][output])

    def plot(self, axes: Sequence[Any] | None = None) -> Self:
        """Draw a line for each number, points for each list; missing and undeclared values on the right.

        Parameters
        ----------
        axes : sequence of matplotlib axes, optional
            One for each feature; a new figure by default.
        """
        import matplotlib.pyplot as plt

        if axes is None:
            across = min(len(self.shapes), _ACROSS)
            down = math.ceil(len(self.shapes) / across)
            figure, grid = plt.subplots(
                down,
                across,
                figsize=(3.4 * across, 2.7 * down),
                layout="constrained",
                sharey=True,
                squeeze=False,
            )
            axes = list(grid.flat)
            for unused in axes[len(self.shapes) :]:
                unused.set_axis_off()
            figure.supylabel(f"added to {printable(self.output)}", fontsize=10)
        for ax, (name, shape) in zip(axes, self.shapes.items(), strict=False):
            (_draw_grid if isinstance(shape.feature, Numeric) else _draw_list)(ax, shape)
            ax.axhline(0, color=GREY, linewidth=0.8, zorder=0)
            ax.set_title(printable(name), fontsize=10)
            plain(ax)
        self.axes_, self.figure_ = list(axes[: len(self.shapes)]), axes[0].figure
        return self


def _draw_grid(ax: Any, shape: Shape) -> None:
    feature: Any = shape.feature
    high = feature.high + 0.5 * feature.integer
    edges: Any = np.concatenate([[feature.domain_low], feature.borders, [high]])
    if isinstance(feature, Date):
        edges = (edges / _DAY).astype("M8[D]")
    known, noise = shape.values[: feature.n_known], shape.noise
    ax.stairs(known, edges, baseline=None, color=BLUE, linewidth=1.6)
    if noise is not None:
        low, up = known - 2 * noise[: len(known)], known + 2 * noise[: len(known)]
        ax.stairs(up, edges, baseline=low, fill=True, color=BLUE, alpha=0.2, linewidth=0)
    if feature.transform is not None:
        ax.set_xscale("log" if feature.transform == "log" else "asinh")
        ax.set_xlim(edges[0], edges[-1])
    if isinstance(feature, Date):
        ax.tick_params(axis="x", labelrotation=30)


def _draw_list(ax: Any, shape: Shape) -> None:
    feature: Any = shape.feature
    levels = feature.levels if isinstance(feature, Ordinal) else feature.categories
    order = list(range(len(levels)))
    if len(levels) > _MOST_LEVELS and not isinstance(feature, Ordinal):  # those that say most
        order = sorted(order, key=lambda at: -abs(shape.values[at]))[:_MOST_LEVELS]
    cells = np.array([*order, feature.missing_cell])
    words = [printable(str(levels[at])) for at in order] + ["missing"]
    spread = None if shape.noise is None else 2 * shape.noise[cells]
    ax.errorbar(
        range(len(cells)), shape.values[cells], spread, fmt="o", color=BLUE, markersize=5, elinewidth=1.2
    )
    long = max(map(len, words)) > 4 or len(words) > 6
    ax.set_xticks(range(len(cells)), words, rotation=35 if long else 0, ha="right" if long else "center")
    ax.margins(x=0.1)
