"""How well the default forest predicts, against everything else here, and what each of its parts is worth."""

from dpforest.papers.experiments.ablations import CLASSIFICATION, REGRESSION
from dpforest.papers.experiments.experiment import Experiment, Paper, Split

# The constants of the default forest were chosen on these datasets...
CHOSEN_ON = (
    "adult", "bank_small", "banknote", "breast_cancer", "car", "claves", "credit_default", "digits",
    "dry_bean", "higgs_26k", "letter", "magic", "mushroom", "nursery", "occupancy", "pendigits",
    "wall_robot_24", "wall_robot_4", "SynthD",
)  # fmt: skip
# ... and confirmed on these, at which nobody looked before.
CONFIRMED_ON = (
    "bank", "blood_transfusion", "congressional_voting", "covertype_426k", "iris", "mammographic_mass",
    "puc_rio", "student", "wall_robot_2", "wine", "Syn10d", "SynthB",
)  # fmt: skip
NUMBERS_CHOSEN_ON = ("appliances_energy", "flights_nyc13", "gas_turbine", "metro_traffic", "parkinsons")
NUMBERS_CONFIRMED_ON = ("diabetes", "flights_us2001", "parkinsons_motor")
EPSILONS = (0.1, 0.5, 1.0, 2.0, 5.0, 10.0)
HERE = Paper("dpforest", 2026, "docs/explanation/default-forest.md")
SPLIT = Split(max_rows=60_000)

EXPERIMENTS = (
    Experiment(
        name="default-classification",
        title="Accuracy of the default forest",
        paper=HERE,
        task="classification",
        metric="accuracy",
        datasets=(*CHOSEN_ON, *CONFIRMED_ON),
        methods=("dpforest",),
        epsilons=EPSILONS,
        quick_repeats=3,
        split=SPLIT,
    ),
    Experiment(
        name="default-rivals",
        title="Other private forests of this library, and references, on the same rows",
        paper=HERE,
        task="classification",
        metric="accuracy",
        datasets=(*CHOSEN_ON, *CONFIRMED_ON),
        methods=(
            "dpforest", "dpforest without the linear part", "dpforest without the tree", "SPE", "DiPriMeFlip",
            "FS", "Majority class", "RF",
        ),
        epsilons=(0.1, 1.0, 2.0, 10.0),
        repeats=3,
        split=SPLIT,
    ),
    Experiment(
        name="default-peers",
        title="Accuracy against epsilon, with the forests of other libraries",
        paper=HERE,
        task="classification",
        metric="accuracy",
        datasets=(
            "adult", "banknote", "credit_default", "letter", "magic", "mushroom", "pendigits",
            "wall_robot_24",
        ),
        methods=("dpforest", "SPE", "diffprivlib", "DP-EBM"),
        epsilons=(0.1, 0.5, 1.0, 2.0, 5.0, 10.0),
        repeats=3,
        split=Split(max_rows=20_000),
    ),
    Experiment(
        name="default-ablation",
        title="Accuracy of the default forest without one of its parts",
        paper=HERE,
        task="classification",
        metric="accuracy",
        datasets=CHOSEN_ON,
        methods=("dpforest", *(f"dpforest {part}" for part in CLASSIFICATION)),
        epsilons=(0.1, 1.0, 10.0),
        repeats=10,
        split=Split(max_rows=20_000),
    ),
    Experiment(
        name="default-regression",
        title="Mean squared error of the default forest",
        paper=HERE,
        task="regression",
        metric="mse",
        datasets=(*NUMBERS_CHOSEN_ON, *NUMBERS_CONFIRMED_ON),
        methods=(
            "dpforest", *(f"dpforest {part}" for part in REGRESSION), "SPE", "DiPriMeFlip",
            "Majority class",
        ),
        epsilons=EPSILONS,
        split=SPLIT,
    ),
    *(
        Experiment(
            name=f"default-{metric.replace(' ', '-')}",
            title=f"{metric} of the default forest's probabilities",
            paper=HERE,
            task="classification",
            metric=metric,
            datasets=CHOSEN_ON,
            methods=("dpforest", "dpforest without a mixture of prunings", "SPE"),
            epsilons=(0.1, 1.0, 10.0),
            repeats=5,
            split=Split(max_rows=20_000),
        )
        for metric in ("log loss", "brier score")
    ),
)  # fmt: skip
