"""Draw an experiment: dots for tables, lines for figures that vary a budget or a parameter.

Colour is the method, shape is the form: the paper's figure, our run of the paper's own form, our rigorous
run. matplotlib is needed (extra ``plots``) and imported when a figure is drawn.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from typing import Any

from dpforest.papers.experiments.experiment import Cell, Experiment
from dpforest.papers.experiments.metrics import Metric, find_metric
from dpforest.papers.experiments.report import short_names
from dpforest.papers.experiments.summary import Comparison, Summary, compare, shortfall

__all__ = ["plot"]

# Wong's palette, which people with colour-blindness can tell apart, then darker shades of it.
COLOURS = (
    "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#7A5C00", "#6A3D9A",
    "#8C2D04", "#4D4D4D", "#006D2C",
)  # fmt: skip
FORMS = {
    "published": {"marker": "D", "markerfacecolor": "none", "linestyle": ":"},
    "ours, as published": {"marker": "o", "markerfacecolor": "white", "linestyle": "--"},
    "ours": {"marker": "o", "linestyle": "-"},
}

MOST_TICKS = 8
MOST_PANELS = 3  # of one dataset: with more, the first, the middle and the last are drawn
WIDE, TALL = 20, 100  # an axis over this ratio is logarithmic
AXES = {  # what readers call the parameters that figures vary
    "bin_end": "upper end of the bin",
    "disjoint": "disjoint rows",
    "labelled_fraction": "part of the rows with a label",
    "max_depth": "depth",
    "max_features": "features compared",
    "n_estimators": "number of trees",
    "split_share": "share of the budget for splits",
}
BY_RULE = "by rule"  # a parameter that is left to the method
OFFSETS = {"published": -0.22, "ours, as published": 0.0, "ours": 0.22}


def plot(
    experiment: Experiment, summaries: Mapping[Cell, Summary], path: str | os.PathLike[str] | None = None
) -> Any:
    """Draw published figures beside ours.

    Parameters
    ----------
    experiment : Experiment
        The table or figure.
    summaries : mapping of Cell to Summary
        What was run.
    path : path, optional
        Where to save it: PNG, SVG or PDF by the ending.

    Returns
    -------
    matplotlib.figure.Figure
    """
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError("figures need matplotlib: pip install 'dpforest[plots]'.") from error

    compared = [
        c
        for c in compare(experiment, summaries)
        if (c.ours is not None or c.published is not None) and c.cell.method in experiment.methods
    ]
    metric = find_metric(experiment.metric)
    varied = _varied(compared)
    figure = Figure(layout="constrained")
    if varied is None:
        _dots(figure, experiment, compared, metric)
    else:
        _lines(figure, experiment, compared, metric, varied)
    quick = shortfall(experiment, summaries)
    figure.suptitle(f"{experiment.title}\n{experiment.paper}{f' ({quick})' if quick else ''}", fontsize=11)
    if path is not None:
        figure.savefig(path, dpi=150)
    return figure


def _varied(compared: list[Comparison]) -> str | None:
    """Return what a figure varies within a dataset, most values first; None for a table."""
    values: dict[str, dict[str, set[Any]]] = {"epsilon": {}}
    for comparison in compared:
        cell = comparison.cell
        told = {"epsilon": cell.epsilon} if not math.isinf(cell.epsilon) else {}
        for name, value in {**told, **_entries(cell)}.items():
            values.setdefault(name, {}).setdefault(cell.dataset, set()).add(str(value))
    counts = {name: max(map(len, found.values()), default=0) for name, found in values.items()}
    name = max(counts, key=lambda name: counts[name])
    return name if counts[name] > 1 else None


def _entries(cell: Cell) -> dict[str, Any]:
    return dict(json.loads(cell.setting)) if cell.setting else {}


def _points(comparison: Comparison) -> dict[str, tuple[float, float]]:
    """Return value and standard error by form."""
    found: dict[str, tuple[float, float]] = {}
    if comparison.published is not None:
        found["published"] = (comparison.published, 0.0)
    for form, summary in (
        ("ours, as published", comparison.as_published),
        ("ours", comparison.rigorous),
    ):
        if summary is not None and summary.repeats:
            error = summary.standard_error
            found[form] = (summary.mean, 0.0 if math.isnan(error) else error)
    return found


def _colours(experiment: Experiment) -> dict[str, str]:
    return {name: COLOURS[i % len(COLOURS)] for i, name in enumerate(experiment.methods)}


def _dots(figure: Any, experiment: Experiment, compared: list[Comparison], metric: Metric) -> None:
    """One panel per dataset, one line per method: how far the three forms are apart is what matters."""
    shown = {c.cell.dataset for c in compared}
    datasets = [name for name in experiment.datasets if name in shown]
    methods = [name for name in experiment.methods if any(c.cell.method == name for c in compared)]
    across = min(3, len(datasets)) or 1
    down = -(-len(datasets) // across)
    figure.set_size_inches(3.6 * across + 1.2, (0.28 * len(methods) + 0.75) * down + 1.3)
    axes = figure.subplots(down, across, squeeze=False, sharey=True)
    colours = _colours(experiment)
    unit = 100 if metric.percent else 1
    for place, axis in enumerate(axes.flat):
        if place >= len(datasets):
            axis.set_axis_off()
            continue
        axis.set_title(short_names(experiment)[datasets[place]], fontsize=9)
        for comparison in compared:
            if comparison.cell.dataset != datasets[place]:
                continue
            middle = methods.index(comparison.cell.method)
            for form, (value, error) in _points(comparison).items():
                height = middle + OFFSETS[form]
                style = {**FORMS[form], "linestyle": "none", "color": colours[comparison.cell.method]}
                axis.errorbar(
                    unit * value, height, xerr=2 * unit * error, markersize=4.5, elinewidth=0.8, **style
                )
        axis.set_yticks(range(len(methods)), [experiment.labels.get(name, name) for name in methods])
        axis.grid(axis="x", alpha=0.3)
        if metric.percent:
            axis.set_xlim(*_possible(axis.get_xlim()))
        axis.tick_params(labelsize=8)
    axes[0, 0].set_ylim(len(methods) - 0.5, -0.5)  # shared: first method on top
    figure.supxlabel(_metric_label(experiment, metric) + "; bars: two standard errors", fontsize=9)
    forms = {form for comparison in compared for form in _points(comparison)}
    told = {form: {**style, "linestyle": "none", "color": "#444"} for form, style in FORMS.items()}
    _legend(figure, {form: style for form, style in told.items() if form in forms})


def _lines(
    figure: Any, experiment: Experiment, compared: list[Comparison], metric: Metric, varied: str
) -> None:
    """Draw one panel per dataset and combination of the other entries, the varied one along the axis."""
    panels = _panels(compared, varied)
    free = [c for c in compared if varied == "epsilon" and math.isinf(c.cell.epsilon)]
    across = min(3, len(panels)) or 1
    down = -(-len(panels) // across)
    figure.set_size_inches(4.2 * across + 2.6, 3.1 * down + 0.8)
    axes = figure.subplots(down, across, squeeze=False)
    for axis in list(axes.flat)[len(panels) :]:
        axis.set_axis_off()
    for axis, (panel, members) in zip(axes.flat, panels.items(), strict=False):
        _panel_lines(axis, experiment, members, metric, varied)
        for comparison in free:
            if comparison.cell.dataset == panel[0] and comparison.rigorous is not None:
                height = (100 if metric.percent else 1) * comparison.rigorous.mean
                axis.axhline(height, color=_colours(experiment)[comparison.cell.method], linewidth=0.8)
        name = short_names(experiment)[panel[0]]
        axis.set_title(", ".join(part for part in (name, panel[1]) if part), fontsize=9)
        axis.set_xlabel(AXES.get(varied, varied), fontsize=9)
        axis.set_ylabel(_metric_label(experiment, metric), fontsize=9)
        axis.tick_params(labelsize=8)
        axis.grid(alpha=0.3)
        if metric.percent:
            axis.set_ylim(*_possible(axis.get_ylim()))
    drawn = dict.fromkeys(c.cell.method for c in compared if _points(c))
    entries: dict[str, dict[str, Any]] = {
        experiment.labels.get(name, name): {"color": _colours(experiment)[name], "linestyle": "-"}
        for name in drawn
    }
    forms = {form for comparison in compared for form in _points(comparison)}
    entries |= {form: {**style, "color": "#444"} for form, style in FORMS.items() if form in forms}
    _legend(figure, entries)


def _panels(compared: list[Comparison], varied: str) -> dict[tuple[str, str], list[Comparison]]:
    """Sort cells into panels; what has no budget joins the panels of all budgets."""
    panels: dict[tuple[str, str], list[Comparison]] = {}
    budgets: dict[str, list[float]] = {}
    for cell in (c.cell for c in compared if not math.isinf(c.cell.epsilon)):
        budgets.setdefault(cell.dataset, []).append(cell.epsilon)
    for comparison in compared:
        cell = comparison.cell
        alone = math.isinf(cell.epsilon)
        if varied == "epsilon" and alone:  # drawn as a level line
            continue
        where = dict.fromkeys(budgets.get(cell.dataset, [cell.epsilon])) if alone else (cell.epsilon,)
        for epsilon in where:
            panels.setdefault(_panel(cell, varied, epsilon), []).append(comparison)
    return _few(panels)


def _few(panels: dict[tuple[str, str], list[Comparison]]) -> dict[tuple[str, str], list[Comparison]]:
    """Leave out panels of datasets that have too many to be read."""
    kept: list[tuple[str, str]] = []
    for dataset in dict.fromkeys(dataset for dataset, _ in panels):
        names = [panel for panel in panels if panel[0] == dataset]
        ends = [names[0], names[len(names) // 2], names[-1]]
        kept += names if len(names) <= MOST_PANELS else ends
    return {name: panels[name] for name in kept}


def _panel(cell: Cell, varied: str, epsilon: float) -> tuple[str, str]:
    others = {name: value for name, value in _entries(cell).items() if name != varied}
    if varied != "epsilon" and not math.isinf(epsilon):
        others["epsilon"] = f"{epsilon:g}"
    return cell.dataset, ", ".join(f"{AXES.get(name, name)} {value}" for name, value in others.items())


def _panel_lines(
    axis: Any, experiment: Experiment, members: list[Comparison], metric: Metric, varied: str
) -> None:
    unit = 100 if metric.percent else 1
    colours = _colours(experiment)
    places: list[Any] = [
        c.cell.epsilon if varied == "epsilon" else _entries(c.cell).get(varied) for c in members
    ]
    numeric = all(isinstance(place, int | float) and not isinstance(place, bool) for place in places)
    names = list(dict.fromkeys(map(str, places)))
    curves: dict[tuple[str, str], list[tuple[float, float, float]]] = {}
    for comparison, place in zip(members, places, strict=True):
        x = float(place) if numeric else float(names.index(str(place)))
        for form, (value, error) in _points(comparison).items():
            curves.setdefault((comparison.cell.method, form), []).append((x, unit * value, unit * error))
    for (method, form), points in curves.items():
        x_values, values, errors = zip(*sorted(points), strict=True)
        twice = [2 * error for error in errors]
        style = {"color": colours[method], "markersize": 4, "linewidth": 1.2, **FORMS[form]}
        axis.errorbar(x_values, values, yerr=twice, elinewidth=0.7, **style)
    heights = [value for points in curves.values() for _, value, _ in points]
    if not metric.percent and min(heights, default=0.0) > 0 and max(heights) >= TALL * min(heights):
        axis.set_yscale("log")
    if not numeric:
        axis.set_xticks(range(len(names)), [BY_RULE if name == "None" else name for name in names])
        return
    if min(places) > 0 and max(places) >= WIDE * min(places):
        axis.set_xscale("log")
    if len(set(places)) <= MOST_TICKS:
        axis.set_xticks(sorted(set(places)), [f"{place:g}" for place in sorted(set(places))])
        axis.set_xticks([], minor=True)


def _possible(limits: tuple[float, float]) -> tuple[float, float]:
    """Keep an axis near what a percentage can be; bars may reach beyond."""
    return max(limits[0], -2.0), min(limits[1], 102.0)


def _metric_label(experiment: Experiment, metric: Metric) -> str:
    if "bin_end" in (experiment.settings[0] if experiment.settings else {}):
        return "part of all"
    return f"{experiment.metric} (%)" if metric.percent else experiment.metric


def _legend(figure: Any, entries: dict[str, dict[str, Any]]) -> None:
    from matplotlib.lines import Line2D

    handles = [Line2D([], [], label=name, markersize=5, **style) for name, style in entries.items()]
    figure.legend(handles=handles, loc="outside right center", fontsize=8, frameon=False)
