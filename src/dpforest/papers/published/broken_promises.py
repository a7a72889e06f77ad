"""What the published forms promise and do not keep, in sentences and numbers.

Estimators build the warning of `as_published=True` from `reasons`. Every number is that of a pair of
neighbouring tables (one record more) and one event; the tests compute it again from the code of this room.
"""

import math
from collections.abc import Mapping
from typing import NamedTuple

__all__ = ["BROKEN_PROMISES", "BrokenPromise", "promises", "reasons"]

TASKS = ("classification", "regression")


class BrokenPromise(NamedTuple):
    """One claim that is false.

    Parameters
    ----------
    what : str
        The step that breaks the claim.
    why : str
        One sentence with the counterexample.
    claimed : float
        The privacy loss that the paper promises for the pair.
    loss : float
        The log-ratio of the probabilities of the event; infinite if it is impossible without the record.
    when : str
        Which options the claim belongs to; empty for all.
    """

    what: str
    why: str
    claimed: float
    loss: float
    when: str = ""


_EQUAL_PARTS = BrokenPromise(
    "equal parts for the trees",
    "one more row enters one part and moves another row to the part that grows; with ten trees on 500 "
    "equal rows the noisy counts reach a log-ratio of 2.91 for a promised 1",
    claimed=1.0,
    loss=2.91,
)
_LEAF_MEAN = BrokenPromise(
    "noise on leaf means",
    "its scale is divided by the private number of rows; {0} and {0, 0} with targets in [-1, 1] differ by "
    "a log-ratio of 5.00 in the event that the released mean exceeds 10, and without bound beyond",
    claimed=1.0,
    loss=5.0,
    when="regression",
)
_EMPTY_LEAF = BrokenPromise(
    "empty leaves in regression",
    "an empty leaf has no mean to add noise to and stays inside the range of the target, a leaf with one "
    "row leaves it with probability 0.61",
    claimed=1.0,
    loss=math.inf,
    when="regression",
)
_FLOATS = BrokenPromise(
    "floating-point thresholds",
    "the last bits of a double tell the two values it was drawn between: more than three in ten "
    "thresholds drawn in (0.3, 900) cannot be drawn in (0.3000001, 900)",
    claimed=1.0,
    loss=math.inf,
)

_SMOOTH_LABELS = BrokenPromise(
    "smooth sensitivity in the exponential mechanism",
    "a lead of two rows that becomes three makes the minority label less likely by a log-ratio of 6.32 for a "
    "promised 1, and without bound for larger leads",
    claimed=1.0,
    loss=6.32,
)
_EQUAL_PARTS_OF_LABELS = BrokenPromise(
    "equal parts for the trees",
    "one more row changes two parts; ten trees on 30 equal rows name the other label with a log-ratio of "
    "8.32 for a promised 1",
    claimed=1.0,
    loss=8.32,
)
_BOOTSTRAP = BrokenPromise(
    "bootstrap samples",
    "a row may come up several times in a sample and is paid for once; the only row of its class among 100 "
    "reaches a log-ratio of 1.70 for a promised 1 in a noisy count beyond 100",
    claimed=1.0,
    loss=1.7,
)
_BINNED_DEPTH = BrokenPromise(
    "depth from the number of rows",
    "3124 rows make trees of two levels, 3125 of three",
    claimed=1.0,
    loss=math.inf,
    when="max_depth=None",
)

BROKEN_PROMISES: Mapping[str, tuple[BrokenPromise, ...]] = {
    "dipri_me": (
        BrokenPromise(
            "K candidate medians at the price of one",
            "all candidates look at the same rows; five copies of one feature reach a log-ratio of 2.19 "
            "for a promised 1",
            claimed=1.0,
            loss=2.19,
            when="variants other than uniform",
        ),
        BrokenPromise(
            "median by index",
            "the chosen interval ignores its length; {0, 1/2-h, 1} and the same with 1/2+h differ at h = "
            "1e-6 by a log-ratio of 12.50 for a promised 1, and without bound as h falls",
            claimed=1.0,
            loss=12.5,
            when="version 2020",
        ),
        BrokenPromise(
            "budgets of the text of 2020",
            "medians and attributes have twice what is set aside for them; with half of the budget for "
            "splits 1.50 is spent for a promised 1",
            claimed=1.0,
            loss=1.5,
            when="version 2020 text",
        ),
        BrokenPromise(
            "permute-and-flip between data points",
            "the mechanism needs a public list; {0.2, 1/2-h, 0.8} and the same with 1/2+h differ at h = "
            "1e-6 by a log-ratio of 12.36 for a promised 1",
            claimed=1.0,
            loss=12.36,
            when="variant permute_and_flip",
        ),
        _LEAF_MEAN,
        _EMPTY_LEAF,
        _EQUAL_PARTS._replace(when="disjoint=True"),
        BrokenPromise(
            "depth from the number of rows",
            "15999 rows make trees of depth 5, 16000 of depth 6",
            claimed=1.0,
            loss=math.inf,
            when="max_depth=None",
        ),
        _FLOATS,
    ),
    "smooth_sensitivity_forest": (_SMOOTH_LABELS, _EQUAL_PARTS_OF_LABELS._replace(when="disjoint=True")),
    "random_decision_trees": (
        BrokenPromise(
            "noise given by its standard deviation",
            "Laplace noise of standard deviation k/eta has a scale smaller by sqrt(2); the promised 0.137 "
            "is 0.194",
            claimed=0.137,
            loss=0.194,
            when="classification",
        ),
        BrokenPromise(
            "budget from the number of rows",
            "eta = 1000/n is a function of the private n; one row more than 7312 changes the probability "
            "of a noisy count above 10000 by a log-ratio of 0.264 for a promised 0.137, and without bound "
            "beyond",
            claimed=0.137,
            loss=0.264,
            when="epsilon=None",
        ),
        _LEAF_MEAN,
        _EMPTY_LEAF,
    ),
    "partitioning_ensemble": (
        BrokenPromise(
            "medians between the data's extremes",
            "eleven zeros always give the threshold 0, one more row at 1 always a positive one",
            claimed=1.0,
            loss=math.inf,
            when="label_only=False",
        ),
        BrokenPromise(
            "stopping at ten rows",
            "ten rows always make a leaf, eleven always a split",
            claimed=1.0,
            loss=math.inf,
            when="label_only=False",
        ),
        _EQUAL_PARTS._replace(when="label_only=False"),
        BrokenPromise(
            "label privacy",
            "one changed label moves two counts of a leaf: a log-ratio of 2.00 for a promised 1",
            claimed=1.0,
            loss=2.0,
            when="label_only=True",
        ),
        _LEAF_MEAN,
        _EMPTY_LEAF,
        _FLOATS._replace(when="label_only=False"),
    ),
    "transductive_ensemble": (
        BrokenPromise(
            "all rows in all trees",
            "every tree spends the whole budget on every row, and every tree of the second ensemble "
            "counts all unlabelled rows: a log-ratio of 14.94 for a promised 1 with five trees in each",
            claimed=1.0,
            loss=14.94,
            when="label_only=False",
        ),
        BrokenPromise(
            "medians between the data's extremes and stopping at ten rows",
            "eleven zeros always give the threshold 0, one more row at 1 always a positive one",
            claimed=1.0,
            loss=math.inf,
            when="label_only=False",
        ),
        BrokenPromise(
            "label privacy",
            "one changed label moves two counts of a leaf: a log-ratio of 2.00 for a promised 1",
            claimed=1.0,
            loss=2.0,
            when="label_only=True",
        ),
        _LEAF_MEAN,
        _EMPTY_LEAF,
        _FLOATS._replace(when="label_only=False"),
    ),
    "noisy_count_forest": (
        BrokenPromise(
            "depth from the number of rows",
            "with features of four values 1023 rows make trees of depth 3, 1024 of depth 4",
            claimed=1.0,
            loss=math.inf,
            when="max_depth=None",
        ),
        BrokenPromise(
            "leaves without rows",
            "such a leaf names each of two labels half of the time; one row at a budget of 1 makes the other "
            "label less likely by a log-ratio of 1.45 for a promised 1",
            claimed=1.0,
            loss=1.45,
        ),
    ),
    "semi_supervised_random_trees": (
        BrokenPromise(
            "label privacy",
            "one changed label moves two counts of every tree: a log-ratio of 2.00 for a promised 1",
            claimed=1.0,
            loss=2.0,
        ),
    ),
    "output_perturbation": (
        BrokenPromise(
            "privacy of whole labelled rows",
            "the noise covers a label and the k neighbours that it speaks for, but a row that goes frees "
            "the unlabelled rows around it for other neighbours; with k = 1 and twenty features one row "
            "of 2041 changes 40 labels, a log-ratio of 3.53 for a promised 1",
            claimed=1.0,
            loss=3.53,
            when="rows and not only labels are private",
        ),
    ),
    "private_random_forest": (
        BrokenPromise(
            "features chosen at the budget of the whole tree",
            "one row among 1001 makes one of ten features less likely by a log-ratio of 0.46, where a tree "
            "of one level and budget 1 sets 0.25 aside",
            claimed=0.25,
            loss=0.46,
            when="regression",
        ),
        _LEAF_MEAN,
        _EMPTY_LEAF,
        _BINNED_DEPTH,
    ),
    "private_extra_trees": (
        BrokenPromise(
            "leaves without rows",
            "such a leaf has shares at random and no noise, which are never 0; one row and a budget of 1 "
            "give its class a share of exactly 1 with probability 0.41",
            claimed=1.0,
            loss=math.inf,
            when="classification",
        ),
        _LEAF_MEAN,
        _EMPTY_LEAF,
    ),
    "greedy_tree": (_FLOATS,),
    "maximal_vote_forest": (_BOOTSTRAP, _BINNED_DEPTH),
    "relaxed_forest": (
        BrokenPromise(
            "a relaxed definition, not epsilon-DP",
            "every tree spends the whole budget on a bootstrap sample of all rows, so that a hundred trees "
            "reach a log-ratio of 170.37 where epsilon = 1; the paper bounds the variance of an estimate and "
            "what some adversaries learn about the values of a row, not whether the row is there",
            claimed=1.0,
            loss=170.37,
        ),
        _BINNED_DEPTH,
    ),
    "local_sensitivity_forest": (
        BrokenPromise(
            "local sensitivity at a noisy size",
            "noise that makes a node look large makes the choice of its attribute too sharp; one row and the "
            "same with a second of another class differ, where the counts 50 and 50 were released, by a "
            "log-ratio of 3.24 for a promised 1, and without bound for larger counts",
            claimed=1.0,
            loss=3.24,
        ),
        BrokenPromise(
            "children for the values that occur",
            "a node has a noisy count for each class and a child for each value that its rows have, and one "
            "with a single class is always a leaf",
            claimed=1.0,
            loss=math.inf,
        ),
        _BINNED_DEPTH,
    ),
    "greedy_smooth_forest": (_SMOOTH_LABELS, _EQUAL_PARTS_OF_LABELS, _BINNED_DEPTH),
}
"""For each function of this room, the claims of its paper that are false."""


def promises(function: str, task: str) -> tuple[BrokenPromise, ...]:
    """Return the false claims about a published form that bear on a task.

    Examples
    --------
    >>> [promise.what for promise in promises("random_decision_trees", "regression")]
    ['budget from the number of rows', 'noise on leaf means', 'empty leaves in regression']
    """
    others = set(TASKS) - {task}
    return tuple(promise for promise in BROKEN_PROMISES[function] if promise.when not in others)


def reasons(function: str, task: str) -> str:
    """Return one text with all reasons why a published form is not private.

    Parameters
    ----------
    function : str
        Name of a function of this room.
    task : {"classification", "regression"}
        Kind of target.

    Returns
    -------
    str
        The reasons, numbered.

    Examples
    --------
    >>> print(reasons("random_decision_trees", "classification"))
    (1) noise given by its standard deviation: Laplace noise of standard deviation k/eta has a scale smaller
    by sqrt(2); the promised 0.137 is 0.194. (2) budget from the number of rows [epsilon=None]: eta = 1000/n
    is a function of the private n; one row more than 7312 changes the probability of a noisy count above
    10000 by a log-ratio of 0.264 for a promised 0.137, and without bound beyond.
    """
    return " ".join(
        f"({number}) {promise.what}{_condition(promise)}: {promise.why}."
        for number, promise in enumerate(promises(function, task), start=1)
    )


def _condition(promise: BrokenPromise) -> str:
    return f" [{promise.when}]" if promise.when and promise.when not in TASKS else ""
