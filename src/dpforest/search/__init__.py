"""Choosing among models: the best of a secret random number of private runs, at a price known beforehand.

`candidates` says what is tried and refuses what cannot be; `runs` makes one run and finds the best of many;
`search` is the estimator. Why it is private: `dpforest.mechanisms.stopping`. `simulation` answers "which
epsilon?" on rows that are nobody's; `made_up` draws them.
"""

from dpforest.search.search import PrivateSearchCV
from dpforest.search.simulation import Simulation, simulate

__all__ = ["PrivateSearchCV", "Simulation", "simulate"]
