import numpy as np
import pytest

from dpforest.papers.published import Domain


def unit_cube(n_features, **target):
    """Numeric features in [0, 1]."""
    shape = n_features
    return Domain(np.zeros(shape), np.ones(shape), np.zeros(shape, dtype=np.int64), **target)


@pytest.fixture
def rng():
    return np.random.default_rng(20240817)


@pytest.fixture
def mixed_classes(rng):
    """Three clusters of three numeric features, and two nominal features that go with them."""
    domain = Domain(np.zeros(5), np.array([1.0, 1, 1, 5, 3]), np.array([0, 0, 0, 4, 2]), n_classes=3)
    y = rng.integers(3, size=6000)
    centres = np.array([[0.2, 0.3, 0.7], [0.5, 0.8, 0.6], [0.8, 0.4, 0.2]])
    numeric = np.clip(rng.normal(centres[y], 0.12), 0, 1)
    letters = np.where(rng.random(6000) < 0.6, y, rng.integers(4, size=6000))
    return np.column_stack([numeric, letters, letters == rng.integers(4, size=6000)]), y, domain


@pytest.fixture
def step_targets(rng):
    """A numeric target in [-2, 6] that is a step of the first of two features, with a little noise."""
    X = rng.random((6000, 2))
    y = np.where(X[:, 0] > 0.4, 3.0, -1.0) + rng.normal(0, 0.3, 6000)
    return X, np.clip(y, -2, 6), unit_cube(2, target_low=-2.0, target_high=6.0)
