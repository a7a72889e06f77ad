"""What the tables share: the papers, and a reader for blocks of printed figures."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from dpforest.papers.experiments.experiment import Experiment, Paper

__all__ = [
    "BOJARSKI",
    "CONSUL_2020",
    "CONSUL_2021",
    "FLETCHER",
    "FREE",
    "HUANG",
    "Figures",
    "grid",
    "read_figures",
    "renamed_figures",
]

FREE = math.inf
"""Epsilon of methods without privacy."""

CONSUL_2020 = partial(
    Paper,
    "Consul and Williamson",
    2020,
    title="Differentially private median forests for regression and classification",
)
CONSUL_2021 = partial(
    Paper,
    "Consul and Williamson",
    2021,
    title="Balance is key: private median splits yield high-utility random trees",
)
FLETCHER = partial(
    Paper,
    "Fletcher and Islam",
    2017,
    title="Differentially private random decision forests using smooth sensitivity",
)
BOJARSKI = partial(
    Paper,
    "Bojarski, Choromanska, Choromanski and LeCun",
    2014,
    title="Differentially- and non-differentially-private random decision trees",
)
HUANG = partial(
    Paper,
    "Huang, Lei and Kaban",
    2022,
    title="Noise-efficient learning of differentially private partitioning machine ensembles",
)

_FIGURE = re.compile(r"(?P<value>[\d.e-]+)(?: ± (?P<spread>[\d.]+))?(?: \((?P<depth>\d+)\))?")


class Figures(NamedTuple):
    """A block of printed figures.

    Parameters
    ----------
    published, spread : dict of (dataset, method, epsilon) to float
        The figures, and what stands behind their plus-minus sign.
    depths : dict of (dataset, method) to dict
        ``{"max_depth": d}`` where a depth stands in brackets.
    """

    published: dict[tuple[str, str, float], float]
    spread: dict[tuple[str, str, float], float]
    depths: dict[tuple[str, str], dict[str, Any]]


def read_figures(
    block: str,
    datasets: Sequence[str],
    *,
    epsilon: float,
    free: Sequence[str] = (),
    units: Mapping[str, float] | float = 1.0,
) -> Figures:
    """Read a block with a line per method and a column per dataset.

    Parameters
    ----------
    block : str
        Lines such as ``RF | 0.989 ± 0.007 (6) | 0.819``; spread and depth may be left out, and a figure that
        the paper does not give is a dash.
    datasets : sequence of str
        Names of the columns.
    epsilon : float
        Budget of the private methods.
    free : sequence of str
        Methods without privacy.
    units : float or mapping of dataset to float
        What a printed 1 stands for.

    Returns
    -------
    Figures

    Examples
    --------
    >>> figures = read_figures("RF | 98.9 ± 0.7 (6) | -", ["a", "b"], epsilon=2, free=["RF"], units=0.01)
    >>> figures.published, figures.depths
    ({('a', 'RF', inf): 0.989}, {('a', 'RF'): {'max_depth': 6}})
    """
    found = Figures({}, {}, {})
    for line in block.strip().splitlines():
        method, *cells = (part.strip() for part in line.split("|"))
        for dataset, cell in zip(datasets, cells, strict=True):
            if cell == "-":
                continue
            figure = _FIGURE.fullmatch(cell)
            if figure is None:
                raise ValueError(f"{method}, {dataset}: cannot read {cell!r}.")
            unit = units[dataset] if isinstance(units, Mapping) else units
            key = (dataset, method, FREE if method in free else epsilon)
            found.published[key] = _scaled(figure["value"], unit)
            if figure["spread"]:
                found.spread[key] = _scaled(figure["spread"], unit)
            if figure["depth"]:
                found.depths[dataset, method] = {"max_depth": int(figure["depth"])}
    return found


def _scaled(printed: str, unit: float) -> float:
    """Multiply without the noise of the last bits: 1.59 percent is 0.0159."""
    return float(f"{float(printed) * unit:.12g}")


def renamed_figures(
    table: Experiment, methods: Mapping[str, str], datasets: Sequence[str]
) -> dict[tuple[str, str, float], float]:
    """Return figures of a table under other names of its methods, for another reading of the same columns."""
    told = {cell: table.published_value(cell) for cell in table.published_cells()}
    return {
        (cell.dataset, methods[cell.method], cell.epsilon): value
        for cell, value in told.items()
        if value is not None and cell.method in methods and cell.dataset in datasets
    }


def grid(**choices: Sequence[Any]) -> tuple[dict[str, Any], ...]:
    """Cross choices into settings, the last one varying fastest.

    Examples
    --------
    >>> grid(max_depth=[2, 4], n_estimators=[1])
    ({'max_depth': 2, 'n_estimators': 1}, {'max_depth': 4, 'n_estimators': 1})
    """
    settings: list[dict[str, Any]] = [{}]
    for name, values in choices.items():
        settings = [{**setting, name: value} for setting in settings for value in values]
    return tuple(settings)
