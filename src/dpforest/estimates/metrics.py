"""What is counted about a released model: a whole number for every row, which follows from that row alone.

A model answers many rows at once, and what a processor makes of a row may differ in the last bits with its
place in an array: a neighbouring table would then move more than one row. So wherever the batch comes close
to a border between two whole numbers, the row is asked about alone. As long as batch and single answers
differ by less than `CLOSE`, which is a billion times their rounding, the number is that of the row by itself.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

CLOSE = 1e-6
LEVELS = 1024
"""Steps from the least to the largest loss of a row."""
AUC_BINS = 65
"""Probabilities that are told apart: 0, 1/64, ... 1."""


@dataclass(frozen=True, eq=False)
class Metric(ABC):
    """A scorer (see `dpforest._curator.Scorer`) for one model, and what is made of its noisy counts.

    Parameters
    ----------
    model : fitted estimator
        Released, hence public.
    largest : float
        Loss to which the losses of single rows are clipped; not used where there are no losses.
    """

    model: Any
    largest: float
    is_sum: ClassVar[bool] = False  # whether sums of levels are released, instead of counts of bins
    of_numbers: ClassVar[bool] = False  # whether it is for regression

    @property
    @abstractmethod
    def n_bins(self) -> int:
        """Number of bins, or of levels."""

    @abstractmethod
    def positions(
        self, answers: NDArray[np.float64], target: NDArray[np.int32]
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return the bin of every row and how far its answer is from having another."""

    @abstractmethod
    def score(self, noisy: NDArray[np.int64]) -> Any:
        """Turn what was released into a score."""

    def __call__(self, cells: NDArray[Any], target: NDArray[np.int32]) -> NDArray[np.int64]:
        """Return the bin of every row, -1 where the target is not known."""
        said = np.full(len(target), -1, np.int64)
        known = np.flatnonzero(target >= 0)
        if not len(known):
            return said
        found, margin = self.positions(self._answers(cells[known]), target[known])
        for at in np.flatnonzero(~(margin > CLOSE)):
            row = known[at : at + 1]
            found[at] = self.positions(self._answers(cells[row]), target[row])[0][0]
        said[known] = np.clip(found, 0, self.n_bins if self.is_sum else self.n_bins - 1)
        return said

    def _answers(self, cells: NDArray[Any]) -> NDArray[np.float64]:
        answers: NDArray[np.float64] = self.model._answers(
            self.model._sum_parts(np.ascontiguousarray(cells), 1)
        )
        return answers

    def _decided(self, answers: NDArray[np.float64]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return the class that the model decides for, and how far it is ahead; weights are at most 1."""
        weights = getattr(self.model, "decision_weights_", None)
        return _most_probable(answers if weights is None else answers * weights)

    @property
    def _n_classes(self) -> int:
        return len(self.model.classes_)


class Accuracy(Metric):
    """Whether the class that the model decides for is that of the row."""

    n_bins = 2

    def positions(
        self, answers: NDArray[np.float64], target: NDArray[np.int32]
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """See `Metric`."""
        named, margin = self._decided(answers)
        return (named == target).astype(np.int64), margin

    def score(self, noisy: NDArray[np.int64]) -> float:
        """Share of the rows that are named correctly."""
        return _share(noisy[1], noisy[0])


class Confusion(Metric):
    """Rows by class and the class that the model decides for."""

    @property
    def n_bins(self) -> int:
        """A bin for every pair of classes."""
        return self._n_classes**2

    def positions(
        self, answers: NDArray[np.float64], target: NDArray[np.int32]
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """See `Metric`."""
        named, margin = self._decided(answers)
        return target.astype(np.int64) * self._n_classes + named, margin

    def score(self, noisy: NDArray[np.int64]) -> NDArray[np.int64]:
        """Noisy counts: true classes by named classes, in the order of `classes_`."""
        return noisy.reshape(self._n_classes, self._n_classes)


class AreaUnderCurve(Metric):
    """Rows by class and probability of the second of two classes."""

    n_bins = 2 * AUC_BINS

    def positions(
        self, answers: NDArray[np.float64], target: NDArray[np.int32]
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """See `Metric`."""
        place, margin = _floors(answers[:, 1] * (AUC_BINS - 1) + 0.5)
        return target.astype(np.int64) * AUC_BINS + np.clip(place, 0, AUC_BINS - 1), margin

    def score(self, noisy: NDArray[np.int64]) -> float:
        """Share of pairs of rows in the right order, those of one bin counted half."""
        negative, positive = np.maximum(noisy.reshape(2, AUC_BINS), 0).astype(np.float64)
        pairs = negative.sum() * positive.sum()
        below = np.cumsum(negative) - negative / 2
        return float(positive @ below / pairs) if pairs else 0.5


class _Loss(Metric):
    """A mean of losses, each clipped to a public largest one."""

    is_sum = True
    n_bins = LEVELS

    @abstractmethod
    def losses(self, answers: NDArray[np.float64], target: NDArray[np.int32]) -> NDArray[np.float64]:
        """Loss of every row."""

    def positions(
        self, answers: NDArray[np.float64], target: NDArray[np.int32]
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """See `Metric`."""
        part = np.clip(self.losses(answers, target) / self.largest, 0, 1)
        return _floors(np.nan_to_num(part, nan=1.0) * LEVELS + 0.5)

    def score(self, noisy: NDArray[np.int64]) -> float:
        """Mean loss."""
        return self.largest * _share(*noisy)


class LogLoss(_Loss):
    """Minus the logarithm of the probability of the row's class."""

    def losses(self, answers: NDArray[np.float64], target: NDArray[np.int32]) -> NDArray[np.float64]:
        """See `_Loss`."""
        own = answers[np.arange(len(target)), target]
        found: NDArray[np.float64] = -np.log(np.maximum(own, np.exp(-self.largest) / 2))
        return found


class Brier(_Loss):
    """Squared distance of the probabilities from the row's class; half of it for two classes."""

    def losses(self, answers: NDArray[np.float64], target: NDArray[np.int32]) -> NDArray[np.float64]:
        """See `_Loss`."""
        hit = np.arange(answers.shape[1]) == target[:, None]
        distance: NDArray[np.float64] = ((answers - hit) ** 2).sum(axis=1)
        return distance / 2 if answers.shape[1] == 2 else distance


class SquaredError(_Loss):
    """Squared difference between prediction and target, as the schema holds it."""

    of_numbers = True

    def losses(self, answers: NDArray[np.float64], target: NDArray[np.int32]) -> NDArray[np.float64]:
        """See `_Loss`."""
        error: NDArray[np.float64] = answers - self.model.schema_.range.decode(target)
        return error**2


METRICS: dict[str, type[Metric]] = {
    "accuracy": Accuracy,
    "confusion_matrix": Confusion,
    "roc_auc": AreaUnderCurve,
    "log_loss": LogLoss,
    "brier_score": Brier,
    "mean_squared_error": SquaredError,
}


def largest_loss(metric: str, model: Any) -> float:
    """Return the loss to which rows are clipped if nothing else is said."""
    if metric == "mean_squared_error":
        bounds = model.schema_.range
        return float(bounds.high - bounds.low) ** 2
    return {"log_loss": float(np.log(100)), "brier_score": 1.0 if len(model.classes_) == 2 else 2.0}.get(
        metric, 1.0
    )


def _most_probable(answers: NDArray[np.float64]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    if answers.shape[1] == 1:
        return np.zeros(len(answers), np.int64), np.full(len(answers), np.inf)
    top = np.sort(answers, axis=1)
    return answers.argmax(axis=1), top[:, -1] - top[:, -2]


def _floors(values: NDArray[np.float64]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Round down; tell how far each value is from the nearest whole number."""
    return np.floor(values).astype(np.int64), np.abs(values - np.rint(values))


def _share(part: Any, rest: Any) -> float:
    """Return the share of a part, from noisy parts; one half if there is nothing."""
    first, second = max(float(part), 0.0), max(float(rest), 0.0)
    return first / (first + second) if first + second else 0.5
