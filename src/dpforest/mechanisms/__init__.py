"""Exact noise and selection: pure functions of integers, a rational rate and random words.

`rates` holds the rate of every exponent, `randomness` the tape of words; `noise` adds discrete Laplace or
Gaussian noise to counts, `block_norm` adds noise to vectors of bounded sums, `selection` draws from finite
public lists, `nested` from lists of three choices that hang together, `named` from such lists with classes
for leaves, `splits` scores thresholds and category subsets of tree nodes, `stopping` says how many runs there
are of which the best is released, `thresholds` from which count on a value may be named, `objective` releases
the minimum of a convex function of the rows.
Each mechanism has a `..._log_pmf` for tests and audits. No privacy is charged here: the caller records
epsilon before it calls. numba is imported at the first draw.
"""

from dpforest.mechanisms.block_norm import (
    block_norm,
    block_norm_log_pmf,
    block_norm_rate,
    block_norm_variance,
)
from dpforest.mechanisms.minimum import LONGEST, POSITION_BITS
from dpforest.mechanisms.named import (
    NAMED_UNIT,
    SoftUnits,
    named_exponential,
    named_log_pmf,
    named_range,
    soft_units,
)
from dpforest.mechanisms.nested import (
    NESTED_UNIT,
    SMALLEST_NESTED_RATE,
    nested_can_choose,
    nested_exponential,
    nested_log_pmf,
    nested_or_rival,
    nested_or_rival_log_pmf,
    nested_range,
)
from dpforest.mechanisms.noise import (
    discrete_gaussian,
    discrete_gaussian_log_pmf,
    discrete_gaussian_parameter,
    discrete_laplace,
    discrete_laplace_log_pmf,
    discrete_laplace_variance,
)
from dpforest.mechanisms.objective import (
    Gradient,
    Problem,
    Steer,
    Terms,
    perturbed_cost,
    perturbed_minimum,
    rounded_minimum,
    terms,
)
from dpforest.mechanisms.randomness import RandomWords
from dpforest.mechanisms.rates import Rate
from dpforest.mechanisms.selection import (
    exponential,
    exponential_log_pmf,
    permute_and_flip,
    permute_and_flip_log_pmf,
)
from dpforest.mechanisms.splits import (
    balanced_subset_log_pmf,
    quantile_log_pmf,
    quantile_range,
    quantile_utilities,
    subset_candidates,
    subset_utilities,
)
from dpforest.mechanisms.stopping import gamma_for, mean_runs, random_runs, random_runs_log_pmf
from dpforest.mechanisms.thresholds import naming_threshold

__all__ = [
    "LONGEST",
    "NAMED_UNIT",
    "NESTED_UNIT",
    "POSITION_BITS",
    "SMALLEST_NESTED_RATE",
    "Gradient",
    "Problem",
    "RandomWords",
    "Rate",
    "SoftUnits",
    "Steer",
    "Terms",
    "balanced_subset_log_pmf",
    "block_norm",
    "block_norm_log_pmf",
    "block_norm_rate",
    "block_norm_variance",
    "discrete_gaussian",
    "discrete_gaussian_log_pmf",
    "discrete_gaussian_parameter",
    "discrete_laplace",
    "discrete_laplace_log_pmf",
    "discrete_laplace_variance",
    "exponential",
    "exponential_log_pmf",
    "gamma_for",
    "mean_runs",
    "named_exponential",
    "named_log_pmf",
    "named_range",
    "naming_threshold",
    "nested_can_choose",
    "nested_exponential",
    "nested_log_pmf",
    "nested_or_rival",
    "nested_or_rival_log_pmf",
    "nested_range",
    "permute_and_flip",
    "permute_and_flip_log_pmf",
    "perturbed_cost",
    "perturbed_minimum",
    "quantile_log_pmf",
    "quantile_range",
    "quantile_utilities",
    "random_runs",
    "random_runs_log_pmf",
    "rounded_minimum",
    "soft_units",
    "subset_candidates",
    "subset_utilities",
    "terms",
]
