"""The trusted core: the one owner of private rows and the complete list of questions it answers.

Read `queries.py` and `sums.py` to see every look at private rows that this library can take. Each charges the
ledger first, then counts, then adds noise, and returns only what the mechanism released.
"""

from dpforest.curator.payment import EXPONENTIAL, PERMUTE_AND_FLIP
from dpforest.curator.queries import Curator
from dpforest.curator.sums import Block, SumQueries, Sums
from dpforest.curator.table import PrivateTable
from dpforest.curator.utilities import Centres, Subsets, Utility

__all__ = [
    "EXPONENTIAL",
    "PERMUTE_AND_FLIP",
    "Block",
    "Centres",
    "Curator",
    "PrivateTable",
    "Subsets",
    "SumQueries",
    "Sums",
    "Utility",
]
