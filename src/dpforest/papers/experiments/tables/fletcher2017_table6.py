"""Fletcher and Islam 2017, addendum of 2021, Table 6: probability of the majority label."""

from dpforest.papers.experiments.experiment import Cell, Experiment, Setting
from dpforest.papers.experiments.tables._shared import FLETCHER
from dpforest.papers.theory import smooth_sensitivity

EPSILON = 0.1
COUNTS = {  # counts of the two labels: printed percent, original and new
    (5, 10): (52.1, 62.2),
    (105, 110): (52.1, 62.2),
    (0, 1): (51.4, 52.5),
    (0, 10): (53.4, 73.1),
    (10, 50): (93.8, 98.2),
    (10, 60): (99.9, 99.3),
}
ROWS = {f"{a} and {b}": (a, b) for a, b in COUNTS}
MECHANISMS = {"original": "smooth", "addendum": "exponential", "permute-and-flip": "permute_and_flip"}


def majority(cell: Cell, setting: Setting) -> float:
    """Return the probability that the more frequent label is released."""
    mechanism = MECHANISMS[cell.method]
    return float(smooth_sensitivity.label_probabilities(ROWS[cell.dataset], cell.epsilon, mechanism)[1])  # type: ignore[arg-type]


EXPERIMENTS = (
    Experiment(
        name="fletcher2017-table6",
        title="Probability of naming the more frequent of two labels",
        paper=FLETCHER("addendum of 2021, Table 6"),
        task="classification",
        metric="value",
        datasets=tuple(ROWS),
        methods=tuple(MECHANISMS),
        epsilons=(EPSILON,),
        compute=majority,
        published={
            (row, method, EPSILON): round(COUNTS[counts][column] / 100, 6)
            for row, counts in ROWS.items()
            for column, method in enumerate(("original", "addendum"))
        },
        published_void={"original": "the exponential mechanism with smooth sensitivity is not private"},
        notes=(
            "The addendum describes permute-and-flip in words and prints the exponential mechanism; the "
            "last column is what it describes. Its table leaves the budget out; the example before it has "
            "0.1."
        ),
    ),
)
