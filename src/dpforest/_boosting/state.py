"""What all parts of a boosted model know: released sizes, and the scales of scores and gradients."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from dpforest._boosting.budget import Purse
from dpforest._curator import TARGET_SPAN, Curator

SCORE_ONE = 2**16  # a score of 1 for classes; for numbers TARGET_SPAN is the whole range
LARGEST_PART = 2**26  # no part of the model adds more to a score


@dataclass
class State:
    """A model while it is being made. Only released and public values are here.

    Parameters
    ----------
    curator : Curator
        Owner of the rows.
    purse : Purse
        What is left of the budget.
    rows : float
        Released number of rows.
    strength : float
        Rows times sqrt(2 rho): how far a sum over all rows stands out of the noise that all budget buys.
    n_classes : int
        Classes, or 0 for numbers.
    clip : float
        Length of gradients beyond which they are clipped.
    spread : float
        For numbers: size of a typical residual, as a part of the range.
    re_clipping : float
        For numbers: share of the budget of one quantile of the residuals.
    gains : ndarray of shape (n_features,)
        What each feature has added to the fit so far, about: squared steps times Hessians.
    """

    curator: Curator
    purse: Purse
    rows: float
    strength: float
    n_classes: int
    clip: float
    spread: float = 1.0
    re_clipping: float = 0.0
    gains: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))

    def __post_init__(self) -> None:
        self.gains = np.zeros(self.curator.schema.n_features)

    @property
    def is_class(self) -> bool:
        """Whether the target is classes."""
        return self.n_classes > 0

    @property
    def has_many_classes(self) -> bool:
        """Whether there is a score for each of several classes."""
        return self.n_classes > 2

    @property
    def one(self) -> int:
        """What a score of 1 is as a whole number."""
        return SCORE_ONE if self.is_class else TARGET_SPAN

    @property
    def typical_hessian(self) -> float:
        """Hessian of a row before anything is known about it."""
        if not self.is_class:
            return 1.0
        return 1 / self.n_classes if self.has_many_classes else 0.2

    @property
    def curvature(self) -> float:
        """Hessian that stands for 1."""
        return self.curator.gradient_scales[1]

    @property
    def link_clip(self) -> float | None:
        """For classes: how far from its class, |p - e_j|, a row may be before its gradient is clipped."""
        if not self.is_class:
            return None
        return self.clip if self.has_many_classes else math.sqrt(2) * self.clip

    def whole(self, scores: NDArray[np.float64]) -> NDArray[np.int64]:
        """Turn scores into whole numbers."""
        return np.rint(scores * self.one).astype(np.int64)
