"""The papers' results as plain functions, each under its theorem number, with what is wrong said aloud.

What lives here
---------------
``noise``
    Identities the library relies on: variances of private leaf means, error of private selection at a gap.
``median_splits``
    Consul and Williamson (2021): one private median split. Theorems 1 to 3, Corollary 3.1, sensitivities.
``median_trees``
    Consul and Williamson (2020): a whole tree of noisy medians. Theorems 1 to 3, Corollary 1.1.
``smooth_sensitivity``
    Fletcher and Islam (2017) and the addendum of 2021: Theorems 1 and 2, Tables 2, 4 and 6.
``random_trees``
    Bojarski, Choromanska, Choromanski and LeCun (2014): Theorems 5.1 to 5.5, data-independent trees
    without noise.
``private_random_trees``
    The same paper's Theorems 5.6 to 5.9: Laplace noise in the leaves and the optimal number of trees.
``partitioning``
    Huang, Lei and Kaban (2022): equations 5 to 7, private medians by rank and geometric budgets.

How to read the results
-----------------------
A function returns a statement that is proved, here or in the paper. Where the printed statement differs,
``as_published=True`` returns it instead, and the docstring tells the counterexample or the missing condition.
Who calls whom: the paper modules may use ``noise`` and ``checks``, ``private_random_trees`` also uses
``random_trees``; nothing else of the library is imported and nothing here touches data that need protection.

Examples
--------
>>> from dpforest.papers.theory import noise, smooth_sensitivity
>>> round(noise.permute_and_flip_error(gap=2, epsilon=1), 3)
0.068
>>> smooth_sensitivity.tree_depth(n_continuous=6, n_discrete=8)
8
"""

from dpforest.papers.theory import (
    median_splits,
    median_trees,
    noise,
    partitioning,
    private_random_trees,
    random_trees,
    smooth_sensitivity,
)

__all__ = [
    "median_splits",
    "median_trees",
    "noise",
    "partitioning",
    "private_random_trees",
    "random_trees",
    "smooth_sensitivity",
]
