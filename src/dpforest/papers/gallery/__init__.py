"""The counterexamples, grouped by paper or by idea; `dpforest.papers.gallery.run` shows them.

`case` says what a case is, `rigorous` computes what this library's own mechanisms lose on a pair. One module
for each group: `median_splits` and `leaf_means` (Consul and Williamson), `groups` (rows shared out among
trees), `random_trees` (Fletcher and Islam, Bojarski and others), `partitioning` (Huang, Lei and Kaban),
`public_facts` (what is not public), `doubles` (attacks on single bits).
"""

from dpforest.papers.gallery import (
    groups,
    leaf_means,
    median_splits,
    partitioning,
    public_facts,
    random_trees,
)
from dpforest.papers.gallery.case import Case
from dpforest.papers.gallery.doubles import bit_attacks

__all__ = ["Case", "all_cases"]

DRAWS, QUICK_DRAWS = 2**14, 2**11


def all_cases(quick: bool = False) -> tuple[Case, ...]:
    """Return all cases in the order of the gallery.

    Parameters
    ----------
    quick : bool, default=False
        Test an eighth of the outputs in the attacks on single bits; everything else is computed anyway.

    Returns
    -------
    tuple of Case

    Examples
    --------
    >>> all_cases()[0].name
    'median by index'
    """
    return (
        *median_splits.CASES,
        *leaf_means.CASES,
        *groups.CASES,
        *random_trees.CASES,
        *partitioning.CASES,
        *public_facts.CASES,
        *bit_attacks(QUICK_DRAWS if quick else DRAWS),
    )
