"""Classes of leaves that are drawn with cuts: the draw itself."""

import numpy as np
from scipy.stats import chisquare

from dpforest.mechanisms import RandomWords, Rate, named_exponential

N_DRAWS = 20_000
COUNTS = np.array([[1, 0, 0], [3, 3, 0], [0, 0, 0], [0, 5, 2]])


def check_classes_are_drawn():
    """Many copies of four leaves; chi-square over all classes of each, false alarms below 1e-6."""
    nothing, base = np.zeros((N_DRAWS, 1, 1), np.int64), np.ones((N_DRAWS, 1), np.int64)
    rate = Rate(1, 1)
    drawn = named_exponential(
        nothing, nothing, base, rate, lambda cuts: np.tile(COUNTS, (len(cuts), 1, 1)), RandomWords.seeded(7)
    )
    assert (drawn[:, :3] == 0).all()
    for leaf, counts in enumerate(COUNTS):
        weights = np.exp(float(rate) * counts)
        seen = np.bincount(drawn[:, 3 + leaf], minlength=3)
        assert chisquare(seen, N_DRAWS * weights / weights.sum()).pvalue > 1e-6 / len(COUNTS)


def test_classes_follow_the_counts_of_their_leaves():
    check_classes_are_drawn()
