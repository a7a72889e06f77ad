"""Neighbours, a linear predictor and noise on its weights as published: Long and Sakuma, 2017.

"Differentially private semi-supervised classification", transductive output perturbation (TOP), rebuilt from
its abstract, from what Huang, Lei and Kaban (2022, Sections 2 and 6.3) say of it (nearest neighbours label
the unlabelled rows, a linear predictor learns from them), and from notes of its readers: the neighbours are
mutual, so that one labelled row speaks for at most k unlabelled ones. Predictor and noise are those of
Chaudhuri, Monteleoni and Sarwate (2011): regularised logistic loss over rows in the unit ball, and noise with
density falling as exp(-epsilon |b| / S) on its weights. S = 2 (k + 1) / (n lambda) covers a labelled row and
the k rows that it speaks for. More than two classes make one predictor each, at an equal part of the budget.

What is false if whole labelled rows are to be private, and not only their labels: a row that goes frees the
unlabelled rows around it for other neighbours, and there may be more than k of them.

True, but for the limits of floating-point numbers and of the search for the minimum: if only a label changes,
who is whose neighbour stays, and k + 1 terms of the loss change.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dpforest._arrays import FloatArray, IntArray
from dpforest.papers.published.domain import Domain, checked_rows, classified_rows
from dpforest.papers.published.forest import PublishedForest

__all__ = ["LinearPredictor", "output_perturbation"]

# From labelled and unlabelled rows to pairs of neighbours: which unlabelled row, which labelled row.
Neighbours = Callable[[FloatArray, FloatArray], tuple[IntArray, IntArray]]
_STEPS = 50  # Newton converges in about ten


def output_perturbation(
    X: FloatArray,
    y: IntArray,
    domain: Domain,
    rng: np.random.Generator,
    *,
    epsilon: float,
    unlabelled: FloatArray,
    neighbours: Neighbours,
    n_neighbors: int,
    regularization: float,
) -> "LinearPredictor":
    """Fit a linear predictor to labels from neighbours, and add noise to its weights. Not row-private.

    Parameters
    ----------
    X, y : ndarray
        Labelled rows and their class codes; rows without a known class are left out.
    domain : Domain
        Public facts, of a classification table.
    rng : Generator
        The noise.
    epsilon : float
        The budget that the paper claims to spend.
    unlabelled : ndarray of shape (m, d)
        Unlabelled rows.
    neighbours : callable
        Finds the mutual neighbours among rows of the unit ball.
    n_neighbors : int
        k, how many unlabelled rows a labelled one speaks for at most.
    regularization : float
        lambda.

    Returns
    -------
    LinearPredictor
        Its votes are scores of the classes.
    """
    X, labels = classified_rows(X, y, domain, "linear classifiers")
    known, others = unit_rows(X, domain), unit_rows(checked_rows(unlabelled, domain), domain)
    votes = np.zeros((len(others), domain.n_classes))
    for other, one in zip(*neighbours(known, others), strict=True):
        votes[other, labels[one]] += 1
    spoken_for = votes.any(axis=1)
    rows = np.concatenate([known, others[spoken_for]])
    codes = np.concatenate([labels, votes[spoken_for].argmax(axis=1)])
    positives = [1] if domain.n_classes == 2 else range(domain.n_classes)
    scale = noise_scale(n_neighbors, len(rows), regularization, epsilon / len(positives))
    weights = []
    for code in positives:
        best = minimum(rows, np.where(codes == code, 1.0, -1.0), regularization)
        direction = rng.normal(size=len(best))
        weights.append(best + direction / np.linalg.norm(direction) * rng.gamma(len(best), scale))
    return LinearPredictor(np.stack(weights, axis=1), domain)


def noise_scale(n_neighbors: int, n_rows: int, regularization: float, epsilon: float) -> float:
    """Return S / epsilon, the scale of the noise, for k + 1 changed terms of the loss.

    Examples
    --------
    >>> round(noise_scale(1, 100, 0.1, 1.0), 6)
    0.4
    """
    return 2 * (n_neighbors + 1) / (max(n_rows, 1) * regularization) / epsilon


def minimum(rows: FloatArray, signs: FloatArray, regularization: float) -> FloatArray:
    """Minimise the mean of log(1 + exp(-sign w x)) plus regularization / 2 times |w|^2, by Newton's method.

    Examples
    --------
    >>> minimum(np.array([[1.0], [-1.0]]), np.array([1.0, -1.0]), 1.0).round(3)
    array([0.401])
    """
    n, d = max(len(rows), 1), rows.shape[1]
    w = np.zeros(d)
    for _ in range(_STEPS):
        wrong = sigmoid(-signs * (rows @ w))
        gradient = regularization * w - rows.T @ (signs * wrong) / n
        curvature = (rows * (wrong * (1 - wrong))[:, None]).T @ rows / n + regularization * np.eye(d)
        step = np.linalg.solve(curvature, gradient)
        w = w - step
        if np.abs(step).max() < 1e-12:
            break
    return w


def sigmoid(x: FloatArray) -> FloatArray:
    """Return 1 / (1 + exp(-x)), for any x.

    Examples
    --------
    >>> sigmoid(np.array([-1e9, 0.0, 1e9]))
    array([0. , 0.5, 1. ])
    """
    return np.asarray((1 + np.tanh(x / 2)) / 2)


def unit_rows(X: FloatArray, domain: Domain) -> FloatArray:
    """Return rows of the unit ball: numbers in [-1, 1], a coordinate per category, a constant, all scaled.

    Examples
    --------
    >>> domain = Domain(np.zeros(2), np.array([10.0, 3.0]), np.array([0, 2]))
    >>> (unit_rows(np.array([[10.0, 1.0]]), domain) * 3**0.5).round(6)
    array([[1., 0., 1., 0., 0., 1.]])
    """
    parts = []
    for j in range(domain.n_features):
        if domain.nominal[j]:
            parts.append(np.eye(int(domain.n_categories[j]) + 2)[X[:, j].astype(np.int64)])
        else:
            parts.append((2 * (X[:, j : j + 1] - domain.low[j]) / (domain.high[j] - domain.low[j])) - 1)
    rows = np.concatenate([*parts, np.ones((len(X), 1))], axis=1)
    return np.asarray(rows / np.sqrt(domain.n_features + 1))


@dataclass(frozen=True)
class LinearPredictor(PublishedForest):
    """Noisy weights; no forest at all, but asked in the same way.

    Parameters
    ----------
    weights : ndarray of shape (n_coordinates, n_predictors)
        One predictor of the second class if there are two, else one for each class.
    domain : Domain
        Public facts.
    """

    weights: FloatArray
    domain: Domain

    def votes(self, X: FloatArray) -> FloatArray:
        """Return the chance of each class by its own predictor."""
        chance = sigmoid(unit_rows(checked_rows(X, self.domain), self.domain) @ self.weights)
        return np.concatenate([1 - chance, chance], axis=1) if self.domain.n_classes == 2 else chance
