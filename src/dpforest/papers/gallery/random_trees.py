"""Random trees: labels by smooth sensitivity, and noise whose size is misread.

Fletcher and Islam, 2017, and Bojarski, Choromanska, Choromanski and LeCun, 2014. The trees look at no row;
all the budget goes to the leaves, and that is where both lose it.
"""

from __future__ import annotations

import numpy as np
from scipy import stats

from dpforest.forests import RandomDecisionForestClassifier, RandomDecisionTreesClassifier
from dpforest.mechanisms import Rate
from dpforest.papers.gallery import rigorous
from dpforest.papers.gallery.case import Case, Measured, log_ratio, make_case
from dpforest.papers.published.random_trees import budget_from_rows, noise_scale
from dpforest.papers.published.smooth_sensitivity import label_probabilities

__all__ = ["CASES", "count_noise_loss", "rows_budget_loss", "smooth_loss"]

ETA, N_TREES = 0.137, 21  # the paper's own
N_ROWS = 7312
BOJARSKI = "Bojarski and others 2014"


def smooth_loss(lead: int, epsilon: float) -> float:
    """Return the loss of a label by smooth sensitivity when a lead over the other label grows by one row.

    Examples
    --------
    >>> round(smooth_loss(2, 1.0), 2), round(smooth_loss(3, 1.0), 1), round(smooth_loss(60, 0.1), 2)
    (6.32, 17.3, 2.12)
    """
    counts = np.array([[lead, 0.0], [lead + 1, 0.0]])
    return log_ratio(*label_probabilities(counts, epsilon)[:, 1])


def _published_smooth() -> Measured:
    note = (
        f"{smooth_loss(3, 1.0):.1f} for a lead of 3, and so on without bound; "
        f"{smooth_loss(60, 0.1):.2f} for a claimed 0.1 and a lead of 60"
    )
    return Measured(smooth_loss(2, 1.0), note=note)


def _repaired_smooth() -> Measured:
    epsilon = rigorous.amount(RandomDecisionForestClassifier(epsilon=1.0), "leaves")
    return Measured(rigorous.label_loss([3, 1], [4, 1], epsilon), event="the worse of the two labels")


def count_noise_loss(scale: float, n_trees: int) -> float:
    """Return the loss of one more row in one leaf of every tree, for Laplace noise of a scale.

    The event is that every noisy count is at least the larger true count.
    """
    fewer, more = (stats.laplace.logsf(1, true, scale) for true in (0, 1))
    return float(n_trees * (more - fewer))


def _repaired_noise() -> Measured:
    forest = RandomDecisionTreesClassifier(N_TREES, epsilon=ETA, max_depth=0)
    rate = Rate.floor(rigorous.amount(forest, "leaves") / N_TREES)
    loss = rigorous.count_loss(np.full(N_TREES, 5), np.full(N_TREES, 6), rate)
    return Measured(loss, event="the worst of all noisy counts of 21 trees")


def rows_budget_loss(n_rows: int, limit: float) -> float:
    """Return the loss of a noisy count of an empty leaf beyond a limit, with eta = 1000 / n.

    Examples
    --------
    >>> round(rows_budget_loss(7312, 1e4), 3)
    0.264
    """
    scales = [noise_scale(1, budget_from_rows(n)) for n in (n_rows, n_rows + 1)]
    fewer, more = (-limit / scale for scale in scales)  # logarithms of twice the tails
    return abs(more - fewer)


def _repaired_budget() -> Measured:
    forest = RandomDecisionTreesClassifier(1, epsilon=ETA, max_depth=0)
    rate = Rate.floor(rigorous.amount(forest, "leaves"))
    loss = rigorous.count_loss([N_ROWS, 0], [N_ROWS + 1, 0], rate)
    note = "the budget is a public parameter, whatever the number of rows"
    return Measured(loss, event="the worst of all noisy counts", note=note)


CASES: tuple[Case, ...] = (
    make_case(
        "labels by smooth sensitivity",
        paper="Fletcher and Islam 2017, Theorem 1",
        claims="The exponential mechanism with sensitivity exp(-j epsilon), j a label's lead, costs epsilon.",
        claim=1.0,
        pair="a leaf with 3 rows of one label and 1 of the other, and one more of the first",
        event="the leaf names the minority label",
        published=_published_smooth,
        repaired=_repaired_smooth,
    ),
    make_case(
        "noise given by its standard deviation",
        paper=f"{BOJARSKI}, Section 3.1",
        claims="Laplace noise of standard deviation k/eta on the counts of k trees costs eta.",
        claim=ETA,
        pair="a table, and one more row, which every one of 21 trees counts",
        event="all noisy counts of the row's leaves reach the larger true count",
        published=lambda: Measured(count_noise_loss(noise_scale(N_TREES, ETA), N_TREES)),
        repaired=_repaired_noise,
    ),
    make_case(
        "rate read as a scale",
        paper=f"{BOJARSKI}, Algorithm 2 read literally",
        claims="Laplace noise g(eta/k) on the counts of k trees costs eta.",
        claim=ETA,
        pair="a table, and one more row, which every one of 21 trees counts",
        event="all noisy counts of the row's leaves reach the larger true count",
        published=lambda: Measured(
            count_noise_loss(ETA / N_TREES, N_TREES), note="eta/k taken for the scale instead of the rate"
        ),
        repaired=_repaired_noise,
    ),
    make_case(
        "budget from the number of rows",
        paper=f"{BOJARSKI}, Section 6",
        claims="eta = 1000/n is the cost of a forest on n rows.",
        claim=ETA,
        pair="7312 rows, and one more, in another leaf",
        event="the noisy count of an empty leaf exceeds 10000",
        published=lambda: Measured(
            rows_budget_loss(N_ROWS, 1e4), note="grows in proportion to the count: no bound at all"
        ),
        repaired=_repaired_budget,
    ),
)
"""Cases of random trees."""
