"""A picture of one tree of a forest: what its nodes ask, and what was released about its leaves."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from typing import Any, Self

from sklearn.utils.validation import check_is_fitted

from dpforest.inspection.drawing import BLUE, GREY, new_axes, printable
from dpforest.inspection.rules import Rule, rules_of, scales_in_words

LEVELS = 3
LIGHT = "#E5F1F8"  # blue, nearly white
_LONGEST = 24

Box = tuple[float, float, str, bool]  # place, words, whether it is a leaf
Line = tuple[float, float, float, float]


@dataclass
class TreeDisplay:
    """The upper levels of a tree.

    Parameters
    ----------
    rules : tuple of Rule
        Conditions and what follows from them.
    title : str
        What it is.
    scales : str
        On which scales columns in brackets add two features.

    Attributes
    ----------
    ax_, figure_ : matplotlib objects
        After `plot`.

    Examples
    --------
    >>> import numpy as np
    >>> from dpforest import DiPriMeForestClassifier
    >>> from dpforest.inspection import TreeDisplay
    >>> X = np.random.default_rng(0).random((500, 1))
    >>> model = DiPriMeForestClassifier(1, bounds=(0, 1), classes=[0, 1], max_depth=1).fit(X, X[:, 0] > 0.5)
    >>> [rule.words for rule in TreeDisplay.from_estimator(model).rules]
    ['x0 < ...', 'x0 >= ..., missing or undeclared']
    """

    rules: tuple[Rule, ...]
    title: str = ""
    scales: str = ""

    @classmethod
    def from_estimator(cls, estimator: Any, tree: int = 0, levels: int = LEVELS) -> Self:
        """Read a tree off a fitted forest.

        Parameters
        ----------
        estimator : fitted forest
            Of this library.
        tree : int
            Which tree.
        levels : int
            How many levels to show.
        """
        check_is_fitted(estimator, "trees_")
        n_trees = estimator.trees_.n_trees
        if not 0 <= tree < n_trees:
            raise ValueError(f"This model has trees 0 to {n_trees - 1}.")
        title = f"Tree {tree + 1} of {n_trees}"
        return cls(rules_of(estimator, tree, levels), title, scales_in_words(estimator, tree))

    def plot(self, ax: Any = None) -> Self:
        """Draw the tree from left to right, so that conditions have room.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Where to; a new figure by default.
        """
        boxes: list[Box] = []
        lines: list[Line] = []
        first, height = _place(self.rules, 0, 0.0, boxes, lines)
        lines += [(-0.2, sum(first) / len(first), 0.0, place) for place in first]
        depth = max(x for x, *_ in boxes) + 1
        ax = new_axes(ax, 2.6 * depth + 0.6, max(0.5 * height + 0.6, 1.6))
        for x, y, to_x, to_y in lines:
            bend = to_x - 0.1
            ax.plot([x, bend, bend, to_x], [y, y, to_y, to_y], color=GREY, linewidth=1, zorder=0)
        for x, y, words, is_leaf in boxes:
            frame = {
                "boxstyle": "round,pad=0.3",
                "facecolor": "white" if is_leaf else LIGHT,
                "edgecolor": BLUE,
            }
            ax.text(x, y, words, fontsize=8, va="center", ha="left", bbox=frame)
        ax.set(xlim=(-0.2, depth), ylim=(height, -1))
        ax.set_axis_off()
        ax.set_title(self.title, fontsize=10, loc="left")
        self.ax_, self.figure_ = ax, ax.figure
        if not self.scales:
            return self
        below = "\n".join(printable(line, 200) for line in textwrap.wrap(self.scales, int(44 * depth)))
        ax.text(-0.2, height, below, fontsize=7, color="#555555", va="top")
        return self


def _place(
    rules: tuple[Rule, ...], level: int, top: float, boxes: list[Box], lines: list[Line]
) -> tuple[list[float], float]:
    """Put every rule in the middle of what follows from it; return the places and where to go on."""
    places = []
    for rule in rules:
        shown = tuple(below for below in rule.follows if not below.cut_off)
        below, bottom = _place(shown, level + 1, top, boxes, lines)
        at = (below[0] + below[-1]) / 2 if below else top
        top = bottom if below else top + 1
        places.append(at)
        boxes.append((float(level), at, _wrapped(rule.words), not rule.follows))
        lines += [(level, at, level + 1.0, place) for place in below]
    return places, top


def _wrapped(words: str) -> str:
    """Break a condition into at most two short lines."""
    parts, line = [], ""
    for word in words.removeprefix("-> ").split(" "):
        if line and len(line) + len(word) >= _LONGEST:
            parts.append(line)
            line = ""
        line = f"{line} {word}".strip()
    parts.append(line)
    if len(parts) > 2:
        parts = [parts[0], parts[1] + " …"]
    return "\n".join(map(printable, parts))
