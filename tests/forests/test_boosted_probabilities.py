"""Probabilities of boosted models: what clipped gradients do to scores is undone."""

import numpy as np
import pytest
from scipy.special import softmax

import dpforest
from dpforest._rows import Block, Grid
from dpforest._rows.scores import Scores
from dpforest._structure.link import probabilities, resting_scores
from dpforest.privacy import PrivacyLeakWarning

SHARES = [
    [0.99, 0.01], [0.3, 0.7], [0.5, 0.5], [0.999, 0.001],
    [0.98, 0.01, 0.01], [0.5, 0.49, 0.01], [0.2, 0.1, 0.7], [1 / 3] * 3, [0.55, 0.4499, 0.0001],
    [0.9, 0.04, 0.03, 0.02, 0.01],
]  # fmt: skip


def clip_of(n_classes):
    """Fit a small model and return the length that it says its gradients were clipped at."""
    model = dpforest.PrivateForestClassifier(
        1, delta=1e-6, max_depth=1, bounds=(0, 1), classes=range(n_classes)
    )
    return model.fit(np.zeros((9, 1)), np.zeros(9)).additive_.clip


@pytest.mark.parametrize("shares", SHARES)
def test_gradients_of_the_kernels_are_at_rest_where_the_link_says(shares):
    """One row of each class, gradients weighed by its share; the logarithms of the shares are not at rest."""
    shares, n = np.array(shares), len(shares)
    rest = resting_scores(shares, clip_of(n))
    np.testing.assert_allclose(probabilities(rest[None], clip_of(n))[0], shares, rtol=1e-4)
    block, sums = Block(np.zeros((n, 1), np.uint8), np.arange(n), None), []
    for scores in (rest, np.log(shares)):
        outputs = scores[1:] - scores[:1] if n == 2 else scores - scores.max()
        program = Scores(Grid((1,), 1), n, 1, 4096).plus_constant(np.rint(outputs * 2**16).astype(np.int64))
        gradients = program.gradients(program.run(block))[0] / 4096
        sums.append(np.abs(shares @ gradients).max())
    assert sums[0] <= 0.1 * sums[1] + 6e-4  # gradients are whole parts of 4096, scores are looked up in steps


def test_the_most_probable_class_has_the_highest_score():
    rng = np.random.default_rng(0)
    for n_classes in (2, 3, 5, 30):
        for spread in (0.1, 1.0, 5.0, 30.0):  # the last: all but two classes have next to nothing
            scores = rng.normal(size=(20_000, n_classes)) * spread
            scores[:, :2] += 20.0 * (spread > 5)
            found = probabilities(scores, clip_of(n_classes))
            np.testing.assert_allclose(found.sum(axis=1), 1)
            tie = np.sort(softmax(scores, axis=1), axis=1)[:, -2:] @ [-1, 1] < 1e-6
            assert (tie | (found.argmax(axis=1) == scores.argmax(axis=1))).all()


@pytest.mark.parametrize("n_classes", [2, 4])
def test_rare_classes_are_as_probable_as_they_are_common(n_classes):
    """Without the link, and a start that knows it, the mean is little more than half of the share."""
    rng = np.random.default_rng(1)
    X = rng.random((20_000, 5))
    chance = np.stack([0.02 * X[:, at] for at in range(n_classes - 1)], axis=1)
    y = (rng.random((20_000, 1)) < np.cumsum(chance, axis=1)).sum(axis=1)  # 0 is the common class
    model = dpforest.PrivateForestClassifier(
        epsilon=2.0, delta=1e-6, bounds=(0, 1), classes=range(n_classes), random_state=0
    )
    with pytest.warns(PrivacyLeakWarning):
        model.fit(X, y)
    shares = np.bincount(y, minlength=n_classes) / len(y)
    np.testing.assert_allclose(model.predict_proba(X).mean(axis=0)[1:], shares[1:], rtol=0.2)
    np.testing.assert_array_equal(model.predict(X), model.predict_proba(X).argmax(axis=1))
