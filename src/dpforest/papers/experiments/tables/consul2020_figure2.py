"""Consul and Williamson 2020, Figure 2: bounds on the tail of a leaf's count, trees of depth 10."""

from dpforest.papers.experiments.experiment import Cell, Experiment, Setting
from dpforest.papers.experiments.tables._shared import CONSUL_2020, grid
from dpforest.papers.theory import median_trees

DEPTH = 10


def tail(cell: Cell, setting: Setting) -> float:
    """Return the probability that a leaf's count is off by more than a deviation, or a bound on it."""
    deviation = setting["deviation"]
    if cell.method == "Laplace model":
        return median_trees.leaf_count_tail_laplace_model(deviation, DEPTH, cell.epsilon)
    published = cell.method == "Theorem 2 as printed"
    return median_trees.leaf_count_tail(deviation, DEPTH, cell.epsilon, as_published=published)


EXPERIMENTS = (
    Experiment(
        name="consul2020-figure2",
        title="Tail of the number of rows in a leaf, depth 10",
        paper=CONSUL_2020("Figure 2"),
        task="regression",
        metric="value",
        datasets=("leaf count",),
        methods=("Laplace model", "Theorem 2 as printed", "Theorem 2 corrected"),
        epsilons=(1.0,),
        settings=grid(deviation=(2, 4, 6, 8, 10, 15, 20)),
        compute=tail,
        notes=(
            "The paper estimates the tail by simulation; here it is the exact tail of the model behind "
            "the theorem. The paper does not give its budget; here it is 1 for every split."
        ),
    ),
)
