"""Huang, Lei and Kaban 2022, Figure 2: geometric against uniform budgets for the levels of a tree."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpforest.papers.experiments.experiment import Cell, Experiment, Setting
from dpforest.papers.experiments.tables._shared import HUANG, grid
from dpforest.papers.theory import partitioning

N_ROWS, N_CANDIDATES, N_TREES = 10_000, 100, 50
RATIOS = {"geometric": 1.5, "uniform": 1.0}


def median_distance(cell: Cell, setting: Setting) -> float:
    """Return the mean distance between private and true medians over the nodes of trees on normal values."""
    depth = setting["max_depth"]
    budgets = partitioning.level_budgets(cell.epsilon, depth, RATIOS[cell.method])
    rng = np.random.default_rng(0)
    return float(np.mean([_tree(np.sort(rng.normal(size=N_ROWS)), budgets, rng) for _ in range(N_TREES)]))


def _tree(values: NDArray[np.float64], budgets: NDArray[np.float64], rng: np.random.Generator) -> float:
    """Mean distance over the nodes of one tree; ten values or fewer make a leaf, as in the paper."""
    distances, nodes = [], [values]
    for budget in budgets:
        children = []
        for node in nodes:
            if len(node) <= 10:
                continue
            candidates = rng.uniform(node[0], node[-1], size=N_CANDIDATES)
            chances = partitioning.candidate_probabilities(node, candidates, budget)
            cut = rng.choice(candidates, p=chances)
            distances.append(abs(cut - np.median(node)))
            place = np.searchsorted(node, cut, side="right")
            children += [node[:place], node[place:]]
        nodes = children
    return float(np.mean(distances))


EXPERIMENTS = (
    Experiment(
        name="huang2022-figure2",
        title="Distance of private medians from the true ones",
        paper=HUANG("Figure 2"),
        task="classification",
        metric="value",
        datasets=("normal values",),
        methods=tuple(RATIOS),
        epsilons=(0.5, 1.0, 2.0, 4.0),
        settings=grid(max_depth=(5, 10)),
        compute=median_distance,
        notes=(
            "The figure is a chart without numbers in the text, and the paper gives neither the number of "
            f"rows nor that of candidates: here {N_ROWS} rows of one feature, {N_CANDIDATES} candidates, "
            f"the mean of {N_TREES} trees."
        ),
    ),
)
