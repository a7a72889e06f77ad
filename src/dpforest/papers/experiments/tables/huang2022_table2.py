"""Huang, Lei and Kaban 2022, Table 2: a fifth of the training rows have labels."""

from dpforest.papers.experiments.experiment import Experiment, Split
from dpforest.papers.experiments.tables._ensembles import DATASETS, DIFFERENCES, EPSILON
from dpforest.papers.experiments.tables._shared import HUANG

METHODS = ("SSPE-1", "SSPE-2", "PTE", "SSRDT", "TOP")
FIGURES = {  # percent, in the order of METHODS
    "adult_train": (80.53, 80.88, 80.29, 75.97, 76.18),
    "bank_small": (87.97, 88.02, 88.84, 88.58, 88.44),
    "banknote": (53.86, 89.67, 90.41, 88.52, 55.30),
    "blood_transfusion": (76.16, 75.84, 76.11, 75.68, 77.36),
    "car": (70.23, 72.55, 71.11, 70.40, 33.88),
    "claves": (67.88, 67.70, 57.68, 74.16, 9.49),
    "credit_default": (78.79, 78.38, 77.89, 77.82, 77.80),
    "dry_bean": (86.84, 87.76, 88.61, 81.41, 72.30),
    "magic": (74.77, 77.02, 74.11, 65.50, 64.83),
    "letter": (42.27, 53.80, 56.91, 16.72, 53.42),
    "mushroom": (90.09, 95.96, 95.46, 92.69, 51.65),
    "nursery": (74.31, 77.17, 76.37, 66.30, 50.66),
    "occupancy": (96.14, 94.20, 92.77, 95.16, 79.08),
    "pendigits@huang2022": (72.04, 85.22, 87.00, 70.10, 84.26),
    "wall_robot_4": (77.30, 87.01, 82.56, 64.33, 61.43),
    "student": (64.77, 65.14, 65.05, 63.05, 64.98),
    "Syn5d": (86.82, 91.59, 91.54, 90.09, 90.29),
    "Syn10d": (86.30, 90.51, 91.11, 83.93, 91.31),
    "Syn15d": (76.40, 85.94, 86.45, 79.59, 86.29),
}

EXPERIMENTS = (
    Experiment(
        name="huang2022-table2",
        title="Accuracy with labels for a fifth of the rows at epsilon 2",
        paper=HUANG("Table 2"),
        task="classification",
        metric="accuracy",
        datasets=tuple(name for name in DATASETS if name in FIGURES),
        methods=METHODS,
        epsilons=(EPSILON,),
        repeats=50,
        quick_repeats=2,
        quick_rows=10_000,
        split=Split(labelled_fraction=0.2),
        rank_test=("Mann-Whitney", "SSPE-2"),
        published={
            (name, method, EPSILON): round(value / 100, 6)
            for name, values in FIGURES.items()
            for method, value in zip(METHODS, values, strict=True)
        },
        notes=(
            "SSPE-1 protects features and labels, the others labels only, so the columns do not promise "
            f"the same. The paper prints no spread. {DIFFERENCES}"
        ),
    ),
)
