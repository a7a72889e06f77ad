"""Fletcher and Islam 2017, Table 2: smooth sensitivities of the majority label."""

from dpforest.papers.experiments.experiment import Cell, Experiment, Setting
from dpforest.papers.experiments.tables._shared import FLETCHER
from dpforest.papers.theory import smooth_sensitivity

BUDGETS = (0.01, 0.1, 1.0)
LEADS = {  # lead of the most frequent label: sensitivity at each budget
    0: (1.00000, 1.00000, 1.00000),
    1: (0.99004, 0.90483, 0.36788),
    5: (0.95122, 0.60653, 0.00674),
    10: (0.90483, 0.36788, 0.00005),
    50: (0.60653, 0.00674, 1.93e-22),
    100: (0.36788, 0.00005, 3.72e-44),
    500: (0.00674, 1.93e-22, 7.12e-218),
}


def sensitivity(cell: Cell, setting: Setting) -> float:
    """Return the smooth sensitivity for a lead such as "j = 5"."""
    lead = int(cell.dataset.removeprefix("j = "))
    printed = cell.method == "Theorem 1"
    return smooth_sensitivity.smooth_sensitivity(lead, cell.epsilon, as_published=printed)


EXPERIMENTS = (
    Experiment(
        name="fletcher2017-table2",
        title="Smooth sensitivity of the majority label",
        paper=FLETCHER("Table 2"),
        task="classification",
        metric="value",
        datasets=tuple(f"j = {lead}" for lead in LEADS),
        methods=("Theorem 1", "Theorem 1 corrected"),
        epsilons=BUDGETS,
        compute=sensitivity,
        published={
            (f"j = {lead}", "Theorem 1", epsilon): value
            for lead, values in LEADS.items()
            for epsilon, value in zip(BUDGETS, values, strict=True)
        },
        published_void={"Theorem 1": "the exponential mechanism with smooth sensitivity is not private"},
        notes=(
            "The printed formula forgets that a lead of one can become a tie with one record more, so its "
            "sensitivities are those of a lead that is larger by one. Figures are printed to five "
            "decimals."
        ),
    ),
)
