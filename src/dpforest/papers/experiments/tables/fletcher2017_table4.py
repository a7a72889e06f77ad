"""Fletcher and Islam 2017, Table 4: depths of trees."""

from dpforest.papers.experiments.experiment import Cell, Experiment, Setting
from dpforest.papers.experiments.tables._shared import FLETCHER, FREE
from dpforest.papers.theory import smooth_sensitivity

FEATURES = {  # dataset: continuous features, discrete features, printed depth
    "SynthA": (5, 0, 5),
    "SynthB": (10, 0, 8),
    "SynthC": (15, 0, 12),
    "SynthD": (15, 0, 12),
    "SynthE": (15, 0, 12),
    "SynthF": (10, 0, 8),
    "SynthG": (20, 0, 15),
    "WallSensor": (4, 0, 4),
    "PenWritten": (16, 0, 12),
    "GammaTele": (10, 0, 8),
    "Adult": (6, 8, 9),
    "Mushroom": (0, 22, 11),
    "Claves": (0, 16, 8),
    "Nursery": (0, 8, 4),
}


def depth(cell: Cell, setting: Setting) -> float:
    """Return the depth for the features of a dataset."""
    continuous, discrete, _ = FEATURES[cell.dataset]
    return smooth_sensitivity.tree_depth(continuous, discrete, as_tabulated=cell.method == "Table 4")


EXPERIMENTS = (
    Experiment(
        name="fletcher2017-table4",
        title="Depth of random trees",
        paper=FLETCHER("Table 4"),
        task="classification",
        metric="value",
        datasets=tuple(FEATURES),
        methods=("Table 4", "Theorem 2"),
        epsilons=(FREE,),
        compute=depth,
        published={(name, "Table 4", FREE): float(row[2]) for name, row in FEATURES.items()},
        notes="The table has one level more than its theorem wherever there are continuous features.",
    ),
)
