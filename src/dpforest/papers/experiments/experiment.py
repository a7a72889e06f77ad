"""What an experiment is: a table or figure of a paper, as data.

An `Experiment` says which datasets, methods and budgets a table crosses, how rows are split, and which
figures the paper printed. `tables/` holds one file per table, each with a tuple ``EXPERIMENTS``; `jobs` turns
an experiment into single fits, `runner` runs them, `report` compares them with the published figures.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

__all__ = ["ANY", "Cell", "Experiment", "Paper", "Setting", "Split", "setting_key"]

Setting: TypeAlias = Mapping[str, Any]
Task: TypeAlias = Literal["classification", "regression"]
RankTest: TypeAlias = tuple[Literal["Wilcoxon", "Mann-Whitney"], str]
Plain: TypeAlias = tuple[str, str, float]
Varied: TypeAlias = tuple[str, str, float, str]
Figures: TypeAlias = Mapping[Plain, float] | Mapping[Varied, float] | Mapping[Plain | Varied, float]

ANY = "*"
"""Stands for every dataset or every method in `Experiment.parameters`."""


def setting_key(setting: Setting) -> str:
    """Write a setting as text that does not depend on the order of its entries; nothing set gives "".

    Examples
    --------
    >>> setting_key({"n_estimators": 10, "max_depth": 5})
    '{"max_depth": 5, "n_estimators": 10}'
    >>> setting_key({})
    ''
    """
    return json.dumps(dict(setting), sort_keys=True) if setting else ""


@dataclass(frozen=True)
class Paper:
    """Where the published figures stand.

    Parameters
    ----------
    authors : str
        Last names, as in a sentence.
    year : int
        Year of the paper.
    place : str
        Table or figure, e.g. "Table 1".
    title : str, optional
        Title of the paper.
    """

    authors: str
    year: int
    place: str
    title: str = ""

    def __str__(self) -> str:
        return f"{self.authors} ({self.year}), {self.place}"


@dataclass(frozen=True)
class Split:
    """How rows are divided into rows to learn from and rows to predict.

    Parameters
    ----------
    test_fraction : float, default=0.1
        Part of the rows that is predicted; drawn anew for every repeat, the same for all methods.
    folds : int, optional
        Cross-validation instead: repeat r predicts fold r modulo `folds` of shuffle r // `folds`.
    labelled_fraction : float, optional
        Part of the training rows that keep their labels, for semi-supervised methods. A setting with the
        entry ``"labelled_fraction"`` overrides it.
    max_rows : int, optional
        Rows drawn from a larger dataset before it is split.
    scale_target : bool, default=True
        Regression: scale the target by its public bounds to [0, 1], before the fit as the papers do.
    """

    test_fraction: float = 0.1
    folds: int | None = None
    labelled_fraction: float | None = None
    max_rows: int | None = None
    scale_target: bool = True


@dataclass(frozen=True)
class Cell:
    """One entry of a table: what is fitted, `repeats` times.

    Parameters
    ----------
    dataset, method : str
        Names.
    epsilon : float
        Budget; infinite for methods without privacy.
    setting : str
        `setting_key` of the setting.
    """

    dataset: str
    method: str
    epsilon: float
    setting: str = ""


@dataclass(frozen=True)
class Experiment:
    """A table or figure: what to fit, how to measure, what was published.

    Parameters
    ----------
    name : str
        Short name for the command line and for files, e.g. "huang2022-table1".
    title : str
        What is compared, in a few words.
    paper : Paper
        Where it was published.
    task : {"classification", "regression"}
        Kind of target.
    metric : str
        Name in `dpforest.papers.experiments.metrics`: "accuracy", "error", "mse", "auc", "f1", ...
    datasets : tuple of str
        Names for `dpforest.papers.datasets.load`, the rows of the table.
    methods : tuple of str
        Names in `dpforest.papers.experiments.methods`, the columns of the table. A method that was also
        registered as
        published, e.g. "SPE (as published)" beside "SPE", is run in both forms: name it "SPE". Names that are
        not registered keep their published figures and are reported as absent.
    epsilons : tuple of float, or mapping from dataset to tuple of float
        Budgets. Methods without privacy run once, under an infinite epsilon.
    settings : tuple of mapping, default=({},)
        Parameters that a figure varies, e.g. ``({"max_depth": 3}, {"max_depth": 5})``. They are given to
        every method, which takes those it has.
    parameters : mapping, optional
        Fixed parameters, by (dataset, method); `ANY` stands for all. Specific entries override general ones:
        first (ANY, ANY), then (dataset, ANY), (ANY, method), (dataset, method). A setting overrides all.
    repeats : int, default=10
        Repeats with fresh splits, as in the paper.
    quick_repeats : int, default=2
        Repeats of the quick version.
    quick_datasets : tuple of str, optional
        Datasets of the quick version; all if not given.
    quick_settings : tuple of mapping, optional
        Settings of the quick version; all if not given.
    quick_rows : int, default=20000
        More rows than this are sampled down in the quick version.
    split : Split, optional
        How rows are divided.
    published : mapping, optional
        Figures of the paper, by (dataset, method, epsilon) or (dataset, method, epsilon, setting_key), in the
        unit of `metric`: accuracies and errors are fractions. Methods without privacy have epsilon infinity.
    published_spread : mapping, optional
        What the paper prints behind the plus-minus sign, by the same keys; `notes` says what it is.
    published_void : mapping, optional
        Reason by method, for methods whose published guarantee does not hold and which are not registered;
        registered ones know their own.
    compute : callable, optional
        For tables of formulas: ``compute(cell, setting)`` gives the value of a cell instead of a fit.
        Datasets and methods are then only names of rows and columns.
    rank_test : tuple of str, optional
        Name of the rank test that the paper runs, and the method that it compares with all others.
    is_reading : bool, default=False
        Whether its figures are those of another experiment, run in another way; they are counted once.
    labels : mapping, optional
        What the paper calls a method, where its name here differs, e.g. ``{"JPW": "RDT"}``.
    notes : str, default=""
        What a reader must know to compare, e.g. a dataset that differs from the paper's.

    Examples
    --------
    >>> paper = Paper("Nobody", 2024, "Table 1")
    >>> experiment = Experiment("999-table1", "An example", paper, "classification", "accuracy", ("iris",),
    ...                         ("RF", "SPE"), (1.0,), published={("iris", "SPE", 1.0): 0.8})
    >>> experiment.published_value(Cell("iris", "SPE", 1.0))
    0.8
    """

    name: str
    title: str
    paper: Paper
    task: Task
    metric: str
    datasets: tuple[str, ...]
    methods: tuple[str, ...]
    epsilons: tuple[float, ...] | Mapping[str, tuple[float, ...]]
    settings: tuple[Setting, ...] = ({},)
    parameters: Mapping[tuple[str, str], Setting] = field(default_factory=dict)
    repeats: int = 10
    quick_repeats: int = 2
    quick_datasets: tuple[str, ...] | None = None
    quick_settings: tuple[Setting, ...] | None = None
    quick_rows: int = 20_000
    split: Split = Split()
    published: Figures = field(default_factory=dict)
    published_spread: Figures = field(default_factory=dict)
    published_void: Mapping[str, str] = field(default_factory=dict)
    compute: Callable[[Cell, Setting], float] | None = None
    rank_test: RankTest | None = None
    is_reading: bool = False
    labels: Mapping[str, str] = field(default_factory=dict)
    notes: str = ""

    def epsilons_for(self, dataset: str) -> tuple[float, ...]:
        """Return the budgets of one dataset."""
        return self.epsilons[dataset] if isinstance(self.epsilons, Mapping) else self.epsilons

    def parameters_for(self, dataset: str, method: str, setting: Setting) -> dict[str, Any]:
        """Merge fixed parameters and a setting, specific entries over general ones.

        Examples
        --------
        >>> paper = Paper("Nobody", 2024, "Table 1")
        >>> depths = {(ANY, ANY): {"max_depth": 4}, ("iris", "RF"): {"max_depth": 9}}
        >>> experiment = Experiment("999-table1", "", paper, "classification", "accuracy", ("iris",),
        ...                         ("RF", "SPE"), (1.0,), parameters=depths)
        >>> experiment.parameters_for("iris", "RF", {}), experiment.parameters_for("iris", "SPE", {})
        ({'max_depth': 9}, {'max_depth': 4})
        """
        merged: dict[str, Any] = {}
        for key in ((ANY, ANY), (dataset, ANY), (ANY, method), (dataset, method)):
            merged.update(self.parameters.get(key, {}))
        return {**merged, **setting}

    def setting_keys(self) -> tuple[str, ...]:
        """Return the keys of all settings."""
        return tuple(setting_key(setting) for setting in self.settings)

    def published_value(self, cell: Cell) -> float | None:
        """Return the paper's figure for a cell, None if it has none."""
        return _look_up(self.published, cell)

    def spread(self, cell: Cell) -> float | None:
        """Return what the paper prints behind the plus-minus sign, None if nothing."""
        return _look_up(self.published_spread, cell)

    def published_cells(self) -> Iterator[Cell]:
        """Return every cell that the paper gives a figure for."""
        for dataset, method, epsilon, *setting in self.published:
            yield Cell(dataset, method, epsilon, setting[0] if setting else "")


def _look_up(figures: Mapping[Any, float], cell: Cell) -> float | None:
    if cell.setting:
        return figures.get((cell.dataset, cell.method, cell.epsilon, cell.setting))
    return figures.get((cell.dataset, cell.method, cell.epsilon))
