"""How a budget is divided among counting, splits and leaves: what most estimators share.

Parts are fractions that add up to 1, so a plan can be added up by hand. The default forests have more to
divide: see `guided_config`.
"""

from __future__ import annotations

from fractions import Fraction

from dpforest.privacy import Pool

COUNTING = Fraction(2, 100)  # of the whole budget, for a noisy number of rows; study: 1 to 5 % are alike
NOTHING = Fraction(0)


def counting_share(is_needed: bool) -> Fraction:
    """Part of the budget for the noisy number of rows, where something is to follow from it."""
    return COUNTING if is_needed else NOTHING


def splits_and_leaves(max_depth: int | None, split_share: float, why_count: str, splits: str) -> list[Pool]:
    """Divide a budget among a count of rows, splits and leaves.

    Parameters
    ----------
    max_depth : int or None
        None: rows are counted, for a rule of the depth. 0: there are no splits.
    split_share : float
        Part of what counting leaves for the splits.
    why_count, splits : str
        What the count is for and what the splits are, in words.

    Examples
    --------
    >>> pools = splits_and_leaves(None, 0.5, "which limits the depth", "private medians")
    >>> [(pool.name, str(pool.share)) for pool in pools]
    [('count', '1/50'), ('splits', '49/100'), ('leaves', '49/100')]
    """
    counting = counting_share(max_depth is None)
    # repr: the decimal number that the user wrote, not the binary one nearest to it
    splitting = (1 - counting) * Fraction(repr(split_share)) if max_depth != 0 else NOTHING
    return [
        Pool("count", counting, f"noisy number of rows, {why_count}"),
        Pool("splits", splitting, splits),
        Pool("leaves", 1 - counting - splitting, "noisy statistics of every leaf"),
    ]
