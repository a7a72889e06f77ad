"""Huang, Lei and Kaban 2022, Table 1: supervised ensembles."""

from dpforest.papers.experiments.experiment import Experiment
from dpforest.papers.experiments.tables._ensembles import DATASETS, DIFFERENCES, EPSILON
from dpforest.papers.experiments.tables._shared import FREE, HUANG

METHODS = ("RF", "SPE", "SRT", "JPW", "MaxTree")
FIGURES = {  # percent, in the order of METHODS
    "adult_train": (85.47, 82.05, 76.89, 76.16, 81.80),
    "bank_small": (89.39, 88.24, 88.73, 88.21, 88.31),
    "banknote": (99.38, 93.54, 77.39, 70.59, 86.93),
    "blood_transfusion": (74.99, 78.00, 75.71, 78.05, 75.68),
    "car": (97.88, 72.71, 71.16, 69.38, 71.42),
    "claves": (80.82, 73.84, 70.80, 73.02, 73.22),
    "credit_default": (82.48, 80.22, 77.80, 78.28, 78.61),
    "dry_bean": (92.61, 90.74, 84.42, 75.28, 89.99),
    "magic": (87.99, 82.34, 71.62, 66.84, 78.58),
    "iris": (95.33, 81.87, 80.53, 81.20, 31.07),
    "letter": (96.13, 67.86, 47.61, 40.25, 62.99),
    "mushroom": (100.00, 99.15, 98.36, 93.89, 97.51),
    "nursery": (98.56, 79.19, 80.64, 65.57, 88.29),
    "occupancy": (99.71, 98.19, 90.26, 82.87, 97.07),
    "pendigits@huang2022": (99.22, 91.72, 89.03, 81.61, 47.12),
    "wall_robot_4": (99.46, 87.43, 61.50, 56.86, 47.70),
    "student": (78.58, 65.29, 60.77, 64.28, 65.60),
    "wine": (100.00, 73.00, 72.56, 74.11, 36.00),
    "Syn5d": (92.49, 90.41, 86.52, 79.78, 88.34),
    "Syn10d": (94.52, 87.64, 80.55, 78.57, 86.71),
    "Syn15d": (94.08, 87.11, 80.67, 80.24, 86.83),
}

EXPERIMENTS = (
    Experiment(
        name="huang2022-table1",
        title="Accuracy of supervised private ensembles at epsilon 2",
        paper=HUANG("Table 1"),
        task="classification",
        metric="accuracy",
        datasets=DATASETS,
        methods=METHODS,
        epsilons=(EPSILON,),
        parameters={("*", "SPE"): {"n_estimators": 10}, ("*", "RF"): {"n_estimators": 100}},
        repeats=50,
        quick_repeats=2,
        quick_rows=10_000,
        published={
            (name, method, FREE if method == "RF" else EPSILON): round(value / 100, 6)
            for name, values in FIGURES.items()
            for method, value in zip(METHODS, values, strict=True)
        },
        rank_test=("Mann-Whitney", "SPE"),
        labels={"JPW": "RDT"},
        notes=f"The paper prints no spread. {DIFFERENCES}",
    ),
)
