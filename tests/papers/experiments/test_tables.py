"""The papers' tables as data: complete, consistent, and typed without slips."""

import math
from pathlib import Path

import numpy as np
import pytest

from dpforest.papers.datasets import list_datasets
from dpforest.papers.datasets.synthetic import size_in_name
from dpforest.papers.experiments.catalogue import experiment_names, find_experiment
from dpforest.papers.experiments.experiment import setting_key
from dpforest.papers.experiments.methods import names as method_names
from dpforest.papers.experiments.rows import rows_page
from dpforest.papers.experiments.tables import huang2022_figure2
from dpforest.papers.experiments.tables._claims import CLAIMS
from dpforest.papers.experiments.tables._shared import read_figures
from dpforest.papers.experiments.tables._smooth_leaves import flipped, sensitivity
from dpforest.papers.experiments.tables.fletcher2017_table3 import mean_leaves, total_leaves
from dpforest.papers.experiments.tables.huang2022_figure2 import median_distance
from dpforest.papers.published import Domain
from dpforest.papers.published.smooth_sensitivity import leaf_keys

PAPERS = ("consul2021", "consul2020", "fletcher2017", "bojarski2014", "huang2022")
NAMES = [name for name in experiment_names() if name.split("-")[0] in PAPERS]
# Number and sum of the printed figures and of their spreads, after every figure was compared with the paper's
# text: a digit that slips later changes a sum.
SUMS = {
    "consul2021-table1": (40, 0.620789, 40, 0.060843),
    "consul2021-table2": (45, 35.553, 45, 0.368),
    "consul2021-nodes": (4, 573, 0, 0),
    "consul2020-table1": (15, 0.184786, 0, 0),
    "consul2020-table2": (18, 3.912, 0, 0),
    "fletcher2017-table2": (21, 9.08794, 0, 0),
    "fletcher2017-table3": (28, 20.99, 28, 0.557),
    "fletcher2017-table4": (14, 128, 0, 0),
    "fletcher2017-table6": (12, 8.502, 0, 0),
    "bojarski2014-table1": (40, 7.2467, 40, 0.5128),
    "huang2022-table1": (105, 84.2796, 0, 0),
    "huang2022-table2": (95, 72.0705, 0, 0),
    # the same columns under other names
    "consul2021-reading1": (5, 2.983, 0, 0),
    "consul2021-reading2": (1, 407, 0, 0),
    "consul2021-reading3": (5, 3.245, 0, 0),
    "consul2020-reading1": (3, 0.04022, 0, 0),
    "consul2020-reading2": (3, 0.502, 0, 0),
    "bojarski2014-reading": (12, 1.5957, 0, 0),
    "bojarski2014-search": (12, 1.5957, 0, 0),
    "huang2022-reading1": (21, 17.5054, 0, 0),
    "huang2022-reading2": (38, 30.7463, 0, 0),
}


@pytest.mark.parametrize("name", SUMS)
def test_printed_figures_add_up(name):
    experiment = find_experiment(name)
    n_figures, total, n_spreads, spreads = SUMS[name]
    assert (len(experiment.published), len(experiment.published_spread)) == (n_figures, n_spreads)
    assert sum(experiment.published.values()) == pytest.approx(total, rel=2e-6)
    assert sum(experiment.published_spread.values()) == pytest.approx(spreads, rel=2e-6)


def test_only_tables_have_figures():
    assert {name for name in NAMES if find_experiment(name).published} == set(SUMS)


@pytest.mark.parametrize("name", NAMES)
def test_every_figure_belongs_to_a_cell_that_is_run(name):
    experiment = find_experiment(name)
    settings = {setting_key(setting) for setting in experiment.settings}
    assert set(experiment.published_spread) <= set(experiment.published)
    for cell in experiment.published_cells():
        assert cell.dataset in experiment.datasets
        assert cell.method in experiment.methods
        assert cell.setting in settings
        assert math.isinf(cell.epsilon) or cell.epsilon in experiment.epsilons_for(cell.dataset)
    assert set(experiment.quick_datasets or ()) <= set(experiment.datasets)
    assert {dataset for dataset, _ in experiment.parameters} <= {"*", *experiment.datasets}
    assert {method for _, method in experiment.parameters} <= {"*", *experiment.methods}


@pytest.mark.parametrize("name", NAMES)
def test_datasets_and_methods_exist(name):
    experiment = find_experiment(name)
    if experiment.compute is not None:
        return
    known = set(list_datasets()["name"])
    assert {size_in_name(dataset)[0] for dataset in experiment.datasets} <= known
    assert set(experiment.methods) <= set(method_names())


def test_every_table_and_figure_is_there():
    figures = [
        "consul2021-figure2",
        "consul2021-figure3",
        "consul2021-figure4",
        "consul2020-figure1",
        "consul2020-figure2",
        "bojarski2014-figure1",
    ]
    figures += [f"fletcher2017-figure{number}" for number in (4, "5a", "5b", *range(6, 15))]
    figures += [f"huang2022-figure{number}" for number in (1, 2, 3)]
    figures += [
        f"{figure}{panel}" for figure in ("consul2021-figure1", "consul2020-figure3") for panel in "abc"
    ]
    figures += ["consul2021-figure6", "consul2020-figure4", "consul2020-figure7"]
    figures += [f"consul2021-figure5{panel}" for panel in "abc"] + [f"consul2020-figure5{p}" for p in "abc"]
    wide = ("consul2021-figure7", "consul2021-figure8", "consul2020-figure6")
    figures += [f"{figure}{panel}" for figure in wide for panel in "abcd"]
    figures += [f"bojarski2014-figure{number}" for number in (3, 5, 7, 9)]
    figures += [f"bojarski2014-figure{number}{panel}" for number in (2, 4, 6, 8, 10) for panel in "ab"]
    assert set(NAMES) == {*SUMS, *figures}


@pytest.mark.parametrize("name", ["fletcher2017-table2", "fletcher2017-table4", "fletcher2017-table6"])
def test_printed_formulas_give_the_printed_figures(name):
    experiment = find_experiment(name)
    for cell in experiment.published_cells():
        printed = experiment.published_value(cell)
        computed = experiment.compute(cell, {})
        # five decimals or three digits; one figure of Table 6 is cut off instead of rounded
        assert computed == pytest.approx(
            printed, rel=3e-3, abs=1.1e-5 if name == "fletcher2017-table2" else 1e-3
        )


def test_bounds_of_the_theorem_hold_for_its_own_model():
    experiment = find_experiment("consul2020-figure2")
    cells = {cell.method: cell for cell in _first_cells(experiment)}
    for setting in experiment.settings:
        tail, *bounds = (experiment.compute(cells[method], setting) for method in experiment.methods)
        assert all(tail <= bound for bound in bounds)


def _first_cells(experiment):
    from dpforest.papers.experiments.experiment import Cell

    return [Cell(experiment.datasets[0], method, experiment.epsilons[0]) for method in experiment.methods]


def test_growing_budgets_come_closer_to_the_median(monkeypatch):
    experiment = find_experiment("huang2022-figure2")
    monkeypatch.setattr(huang2022_figure2, "N_TREES", 10)
    geometric, uniform = (median_distance(cell, {"max_depth": 8}) for cell in _first_cells(experiment))
    assert geometric < uniform


def test_leaves_of_trees_with_a_child_per_category_are_counted():
    domain = Domain(np.zeros(3), np.array([2.0, 4.0, 1.0]), np.array([2, 4, 1]), n_classes=2)
    seeds = np.arange(1, 20, dtype=np.uint64)
    # every feature once, in any order: 2 * 4 * 1 leaves in every tree
    assert total_leaves(seeds, domain, depth=3) == 8 * len(seeds)
    # one level: as many leaves as the root has children
    roots = [total_leaves(seeds[i : i + 1], domain, depth=1) for i in range(len(seeds))]
    assert set(roots) == {1, 2, 4}
    assert mean_leaves(domain, 1) == pytest.approx(7 / 3, rel=0.03)
    every_row = np.array([[a, b, 0.0] for a in range(2) for b in range(4)])
    reached = [len(np.unique(leaf_keys(every_row, np.full(8, seed), domain, 1))) for seed in seeds]
    assert reached == roots


def test_leaves_are_measured_by_their_lead():
    """Leads 5 and 0: sensitivities e^-5 and 1; a tie names one of its two labels in any case."""
    counts = np.array([[7.0, 2.0, 0.0], [3.0, 3.0, 0.0]])
    assert sensitivity(counts, 1.0) == pytest.approx([math.exp(-5), 1.0])
    others = 2 / (2 + math.exp(0.5 * math.exp(5)))
    assert flipped(counts, 1.0) == pytest.approx([others, 1 / (1 + 2 * math.exp(0.5))])


def test_claims_name_cells_that_are_run():
    for number, claims in CLAIMS.items():
        assert number in PAPERS
        for claim in claims:
            experiment = find_experiment(claim.experiment)
            keys = set(experiment.setting_keys())
            for side in (*claim.better, *claim.worse):
                assert side.method.removesuffix(" (as published)") in experiment.methods, claim
                assert setting_key(side.setting or {}) in keys, claim
            assert set(claim.datasets or ()) <= set(experiment.datasets)
            budgets = {epsilon for name in experiment.datasets for epsilon in experiment.epsilons_for(name)}
            named = {side.epsilon for side in (*claim.better, *claim.worse)} - {None}
            assert {*named, *(claim.epsilons or ())} <= budgets, claim


def test_the_table_of_rows_names_every_experiment_and_every_reason():
    docs = Path(__file__).parents[3] / "docs"
    page = (docs / "papers.md").read_text(encoding="utf-8")
    assert page == rows_page(docs / "results"), "run python docs/results/write_results.py"
    rows = [line.strip("| ").split(" | ") for line in page.splitlines() if line.startswith("| ")]
    assert {len(row) for row in rows} == {4}
    rows = [row for row in rows if row[1] != "here"]
    assert {row[1] for row in rows} == {"right", "differs", "missing"}
    reasons = " ".join(row[3] for row in rows)
    assert [name for name in NAMES if name not in reasons] == []
    for name, state, outcome, reason in rows:
        own = reason.split(";", 1)[-1] if reason.split(";")[0] in NAMES else reason
        if state != "right" or outcome.startswith(("no (", "partly")):  # nothing differs in silence
            assert own.strip(), name
            assert own != reason or state != "right", name


def test_a_slip_in_a_block_of_figures_is_an_error():
    with pytest.raises(ValueError, match="cannot read"):
        read_figures("RF | 0,989", ["a"], epsilon=1.0)
    with pytest.raises(ValueError, match="longer"):
        read_figures("RF | 0.989 | 0.9", ["a"], epsilon=1.0)
