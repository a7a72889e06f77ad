"""Boosting under zCDP: marginals, a linear part, and rounds of shallow guided trees on what is left.

Why it pays with delta: one exponential mechanism costs epsilon**2 / 8 however many cuts it compares, and one
Gaussian query about a whole level costs the length of one row once, so many small questions are cheap.
`learner` has the order of things; all private rows stay behind `dpforest._curator.gradients`.
"""

from dpforest._boosting.budget import COUNTING, POOL
from dpforest._boosting.learner import Boosted, boost

__all__ = ["COUNTING", "POOL", "Boosted", "boost"]
