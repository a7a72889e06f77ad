"""The trusted core: the one owner of private rows and the complete list of questions it answers.

Read `queries.py`, `sums.py`, `fits.py`, `gradients.py` and `estimates.py` to see every query of private rows
that this library can take, and `payment.py` for the one place where a mechanism meets a private table. Each
query charges the ledger first, then counts, then adds noise, and returns only what the mechanism released.
`observer.py` lets auditors replay void fits.
"""

from dpforest._curator.assignment import KeyedTrees, Part
from dpforest._curator.directions import FROM_PUBLIC_ROWS, N_BINS, Directions, Parted
from dpforest._curator.estimates import EstimateQueries, Named, Scorer
from dpforest._curator.fits import ONE, FitQueries, Wanted
from dpforest._curator.gradients import (
    QUANTILE_PARTS,
    TARGET_SPAN,
    Columns,
    Feature,
    GradientQueries,
    Released,
    fitting_unit,
    gradient_unit,
)
from dpforest._curator.observer import Look, Observer, watched_by
from dpforest._curator.pairs import PairColumns
from dpforest._curator.payment import EXPONENTIAL, NAMED, NESTED, NESTED_OR_RIVAL, PERMUTE_AND_FLIP, Noisy
from dpforest._curator.queries import Curator
from dpforest._curator.sums import Block, SumQueries, Sums
from dpforest._curator.table import PrivateTable
from dpforest._curator.utilities import NOTHING_EXPECTED, Centres, Expected, Subsets, Utility, median_scores
from dpforest._curator.values import TARGET, PrivateValues
from dpforest._rows import COARSE_LEVELS, MAX_PER_ROW, MAX_ROWS, MIXTURE_UNIT

__all__ = [
    "COARSE_LEVELS",
    "EXPONENTIAL",
    "FROM_PUBLIC_ROWS",
    "MAX_PER_ROW",
    "MAX_ROWS",
    "MIXTURE_UNIT",
    "NAMED",
    "NESTED",
    "NESTED_OR_RIVAL",
    "NOTHING_EXPECTED",
    "N_BINS",
    "ONE",
    "PERMUTE_AND_FLIP",
    "QUANTILE_PARTS",
    "TARGET",
    "TARGET_SPAN",
    "Block",
    "Centres",
    "Columns",
    "Curator",
    "Directions",
    "EstimateQueries",
    "Expected",
    "Feature",
    "FitQueries",
    "GradientQueries",
    "KeyedTrees",
    "Look",
    "Named",
    "Noisy",
    "Observer",
    "PairColumns",
    "Part",
    "Parted",
    "PrivateTable",
    "PrivateValues",
    "Released",
    "Scorer",
    "Subsets",
    "SumQueries",
    "Sums",
    "Utility",
    "Wanted",
    "fitting_unit",
    "gradient_unit",
    "median_scores",
    "watched_by",
]
