"""What is said about results: means, verdicts, marks of false ground, and the committed page."""

import json
import math
from dataclasses import replace
from pathlib import Path

import pytest

from dpforest.papers.experiments import (
    AS_PUBLISHED,
    Cell,
    experiment_names,
    find_experiment,
    plot,
    report,
    run,
    summarise,
)
from dpforest.papers.experiments.claims import Claim, Side, judge
from dpforest.papers.experiments.methods import find
from dpforest.papers.experiments.metrics import find_metric
from dpforest.papers.experiments.page import keep, results_page
from dpforest.papers.experiments.results import Result, read_results
from dpforest.papers.experiments.summary import Summary, compare, join_kept, pairs, read_kept, write_kept
from tests.papers.experiments.conftest import experiment, load

DOCS = Path(__file__).parents[3] / "docs"


def line(value, repeat, method="SPE", status="ok", **changes):
    told = Result(
        "999-table1", "first", method, 1.0, "", "{}", repeat, 0, "accuracy", value, 0.1, 90, status, "",
        "0.1.0", "3.11", "2", "1.6", "abc",
    )  # fmt: skip
    return replace(told, **changes)


def summary(mean, error, method="SPE", repeats=4, **cell):
    facts = {"dataset": "first", "epsilon": 1.0, "setting": "", **cell}
    return Summary(
        method=method, mean=mean, standard_error=error, repeats=repeats, failed=0, n_train=90,
        version="0.1.0", revision="abc", **facts,
    )  # fmt: skip


def by_cell(*summaries):
    return {one.cell: one for one in summaries}


def table(**changes):
    facts = {"methods": ("SPE", "RF"), "published": {("first", "SPE", 1.0): 0.8}, "repeats": 4}
    return experiment(**{**facts, **changes})


def test_means_and_standard_errors_leave_failures_out():
    lines = [line(0.7, 0), line(0.9, 1), line(math.nan, 2, status="failed")]
    (found,) = summarise(lines).values()
    assert (found.mean, found.repeats, found.failed) == (pytest.approx(0.8), 2, 1)
    assert found.standard_error == pytest.approx(0.1)  # sd 0.1414 over sqrt(2)


def test_of_a_job_tried_again_the_last_try_counts():
    lines = [line(math.nan, 0, status="failed"), line(0.5, 0)]
    (found,) = summarise(lines).values()
    assert (found.mean, found.repeats, found.failed) == (0.5, 1, 0)


def test_kept_files_come_back_as_they_were(tmp_path):
    told = by_cell(
        replace(summary(0.5, 0.01), seconds=0.25, values=(0.49, 0.51)),
        summary(0.123456, math.nan, "RF", 1, epsilon=math.inf, setting='{"k": 2}'),
    )
    write_kept(tmp_path / "kept.csv", told)
    again = read_kept(tmp_path / "kept.csv")
    assert again.keys() == told.keys()
    assert again[Cell("first", "SPE", 1.0)] == told[Cell("first", "SPE", 1.0)]


@pytest.mark.parametrize(
    ("mean", "error", "expected"), [(0.842, 0.01, True), (0.848, 0.01, False), (0.9, math.nan, None)]
)
def test_reproduced_means_two_standard_errors_of_the_difference(mean, error, expected):
    """With four repeats here and there the difference has sqrt(2) of our error, t is 3.31: 0.0468 may be."""
    told = by_cell(summary(mean, error, "SPE" + AS_PUBLISHED), summary(0.1, 0.01))
    (found,) = [c for c in compare(table(), told) if c.cell.method == "SPE"]
    assert found.reproduced is expected


def test_agreement_within_a_wide_interval_tells_nothing():
    """Two errors of 2 points are 9.4 with four repeats: 85 % agrees with 80 %, and with much else."""
    wide = by_cell(summary(0.85, 0.02, "SPE" + AS_PUBLISHED), summary(0.78, 0.02))
    text = report(table(), wide)
    assert "| cannot tell (± 9.35) |" in text
    assert "0 of 1 published figures are reproduced" in text
    (found,) = [c for c in compare(table(), wide) if c.cell.method == "SPE"]
    assert found.rigorous_no_worse(higher_is_better=True) is None
    far = by_cell(summary(0.6, 0.02, "SPE" + AS_PUBLISHED), summary(0.85, 0.02))
    assert "worse by 20.00 points" in report(table(), far)
    (found,) = [c for c in compare(table(), far) if c.cell.method == "SPE"]
    assert found.rigorous_no_worse(higher_is_better=True) is True


def test_fewer_repeats_than_the_papers_are_called_quick():
    told = by_cell(summary(0.8, 0.01, "SPE" + AS_PUBLISHED))
    assert "quick" not in report(table(), told).lower()
    assert "**Quick: 4 repeats of 50.**" in report(table(repeats=50), told)
    wider = table(settings=({"max_depth": 2}, {"max_depth": 3}, {}))
    assert "**Quick: 1 of 3 cells.**" in report(wider, told)


CLAIM = Claim("Section 1", "SPE wins", "huang2022-figure3", (Side("SPE"),), (Side("RF"),))


@pytest.mark.parametrize(
    ("means", "everywhere", "mostly"),
    [
        ((0.9, 0.9, 0.9), "holds", "holds"),
        ((0.9, 0.9, 0.8), "cannot tell", "holds"),
        ((0.9, 0.9, 0.7), "does not hold", "holds"),
        ((0.8, 0.8, 0.7), "does not hold", "cannot tell"),
        ((0.9, 0.7, 0.7), "does not hold", "does not hold"),
        ((), "not run", "not run"),
    ],
)
def test_claims_are_judged_by_clear_differences(means, everywhere, mostly):
    told = {}
    for place, mean in enumerate(means):
        told |= by_cell(summary(mean, 0.01, dataset=str(place)), summary(0.8, 0.01, "RF", dataset=str(place)))
    assert judge(CLAIM, lambda name: told).verdict == everywhere
    assert judge(replace(CLAIM, scope="mostly"), lambda name: told).verdict == mostly


def test_single_repeats_settle_no_claim():
    told = by_cell(
        replace(summary(0.9, math.nan), repeats=1), replace(summary(0.1, math.nan, "RF"), repeats=1)
    )
    assert judge(CLAIM, lambda name: told).verdict == "cannot tell"


def test_a_claim_fails_where_no_difference_that_matters_can_have_been_overlooked():
    """Two tenths of a point ahead: with errors of a tenth nothing is clear, and a point is ruled out."""
    narrow = by_cell(summary(0.802, 0.001, repeats=20), summary(0.8, 0.001, "RF", repeats=20))
    found = judge(CLAIM, lambda name: narrow)
    assert (found.verdict, "1 the same" in found.measured) == ("does not hold", True)
    wide = by_cell(summary(0.802, 0.01, repeats=20), summary(0.8, 0.01, "RF", repeats=20))
    assert judge(CLAIM, lambda name: wide).verdict == "cannot tell"


@pytest.mark.parametrize(
    ("mean", "error", "verdict"),
    [(0.8, 0.001, "holds"), (0.8, 0.01, "cannot tell"), (0.77, 0.001, "does not hold")],
)
def test_a_claim_to_be_no_worse_allows_for_little(mean, error, verdict):
    told = by_cell(summary(mean, error, repeats=20), summary(0.8, error, "RF", repeats=20))
    assert judge(replace(CLAIM, no_worse=True), lambda name: told).verdict == verdict


def test_repeats_of_a_claim_are_compared_in_pairs():
    """A point ahead in every repeat, where repeats scatter by ten: clear in pairs, and not without them."""
    level = (0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
    ahead = [line(value + 0.01, repeat, "SPE") for repeat, value in enumerate(level)]
    told = summarise([*ahead, *(line(value, repeat, "RF") for repeat, value in enumerate(level))])
    assert judge(CLAIM, lambda name: told).verdict == "holds"
    alone = {cell: replace(one, values=()) for cell, one in told.items()}
    assert judge(CLAIM, lambda name: alone).verdict == "cannot tell"


def test_of_two_runs_the_one_with_more_repeats_is_kept_and_takes_the_time_of_the_other():
    old, new = summary(0.5, 0.01, repeats=5), replace(summary(0.6, 0.01, repeats=2), seconds=3.0)
    (kept,) = join_kept(by_cell(old), by_cell(new)).values()
    assert (kept.mean, kept.repeats, kept.seconds) == (0.5, 5, 3.0)
    (kept,) = join_kept(by_cell(new), by_cell(old)).values()
    assert kept == old


def test_a_repeat_that_failed_has_no_pair():
    ours = [line(0.5, 0), line(math.nan, 1, status="failed"), line(0.7, 2)]
    theirs = [line(0.1, 0, "RF"), line(0.2, 1, "RF"), line(0.3, 2, "RF"), line(0.4, 3, "RF")]
    told = summarise([*ours, *theirs])
    first, second = pairs(told[Cell("first", "SPE", 1.0)], told[Cell("first", "RF", 1.0)])
    assert (first, second) == ((0.5, 0.7), (0.1, 0.3))


def test_a_claim_about_the_largest_gain_needs_one_of_that_size():
    told = by_cell(summary(0.9, 0.01), summary(0.8, 0.01, "RF"))
    assert judge(replace(CLAIM, largest=0.12), lambda name: told).verdict == "holds"
    assert judge(replace(CLAIM, largest=0.26), lambda name: told).verdict == "does not hold"


def test_claims_may_compare_budgets():
    told = by_cell(summary(0.9, 0.01, epsilon=2.0), summary(0.8, 0.01, epsilon=0.5))
    sides = (Side("SPE", None, 2.0),), (Side("SPE", None, 0.5),)
    claim = replace(CLAIM, better=sides[0], worse=sides[1], epsilons=(2.0,))
    assert judge(claim, lambda name: told).verdict == "holds"
    assert (
        judge(replace(claim, better=sides[1], worse=sides[0]), lambda name: told).verdict == "does not hold"
    )


def test_the_papers_own_form_is_compared_and_the_rigorous_one_shown_beside():
    told = by_cell(summary(0.8, 0.01, "SPE" + AS_PUBLISHED), summary(0.7, 0.01))
    text = report(table(), told)
    assert "| first | SPE | 80.00 % † | 80.00 % ± 1.00 (4) | 70.00 % ± 1.00 (4) | reproduced |" in text
    assert "† The published guarantee of SPE does not hold: medians between the data's extremes" in text
    assert "Not run: RF" in text
    assert "1 of 1 published figures" in text


def test_what_is_better_depends_on_the_metric():
    told = by_cell(summary(0.9, 0.001, "SPE" + AS_PUBLISHED))
    assert "better by 10.00 points" in report(table(), told)
    assert "worse by 10.00 points" in report(table(metric="error"), told)


def test_formulas_are_compared_within_the_digits_of_print():
    def compute(cell, setting):
        return 0.0

    formula = table(compute=compute, metric="value", published={("first", "SPE", 1.0): 0.368})
    assert "reproduced |" in report(formula, by_cell(summary(math.exp(-1), math.nan, repeats=1)))
    assert "differs by 0.032 |" in report(formula, by_cell(summary(0.4, math.nan, repeats=1)))


def test_absent_methods_keep_their_published_figures():
    told = table(methods=("XYZ",), published={("first", "XYZ", 1.0): 0.8}, published_void={"XYZ": "no proof"})
    text = report(told, {})
    assert "| first | XYZ | 80.00 % † |" in text
    assert "no proof" in text


def test_rank_tests_are_those_of_single_repeats():
    """SPE ahead by a point in six repeats that scatter by ten: paired that is clear, unpaired it is not."""
    level = [0.4, 0.5, 0.6, 0.7, 0.8, 0.9]
    lines = [line(v + 0.01 + i / 1e4, i, "SPE" + AS_PUBLISHED) for i, v in enumerate(level)]
    lines += [line(v, i, "RF") for i, v in enumerate(level)]
    assert "better than RF on 1 of 1 (worse on 0)" in report(table(rank_test=("Wilcoxon", "SPE")), lines)
    assert "better than RF on 0 of 1 (worse on 0)" in report(table(rank_test=("Mann-Whitney", "SPE")), lines)
    assert "worse on 1" in report(table(rank_test=("Wilcoxon", "SPE"), metric="error"), lines)


def test_figures_draw_no_more_panels_than_can_be_read():
    pytest.importorskip("matplotlib")
    told = by_cell(
        *(
            summary(0.8, 0.01, setting=json.dumps({"max_depth": depth, "n_estimators": trees}))
            for depth in range(1, 16)
            for trees in range(1, 12)
        ),
        summary(0.8, 0.01, "a method of the past"),
    )
    titles = [axis.get_title() for axis in plot(table(published={}), told).axes]
    assert len(titles) == 3
    assert [title.split(", ")[1] for title in titles] == [f"number of trees {k}" for k in (1, 6, 11)]


def test_html_escapes_what_it_shows():
    text = report(table(title="a < b & c"), by_cell(summary(0.8, 0.1)), "html")
    assert "a &lt; b &amp; c" in text
    assert "<td" in text


@pytest.mark.parametrize("varied", ["table", "epsilon", "depth", "words"])
def test_figures_show_every_form(varied, tmp_path):
    pytest.importorskip("matplotlib")
    settings = {"depth": ('{"max_depth": 2}', '{"max_depth": 4}'), "words": ('{"v": "a"}', '{"v": "b"}')}
    epsilons = (1.0, 2.0) if varied == "epsilon" else (1.0,)
    told = by_cell(
        *(
            summary(0.8, 0.01, method, epsilon=math.inf if method == "RF" else epsilon, setting=setting)
            for method in ("SPE", "SPE" + AS_PUBLISHED, "RF")
            for epsilon in epsilons
            for setting in settings.get(varied, ("",))
        )
    )
    figure = plot(table(), told, tmp_path / "figure.png")
    assert (tmp_path / "figure.png").stat().st_size > 1000
    legend = {text.get_text() for text in figure.legends[0].get_texts()}
    assert {"ours, as published", "ours"} <= legend
    drawn = [axis for axis in figure.axes if axis.lines]
    assert len(drawn) == 1  # what has no budget stands beside what has one
    labels = {axis.get_xlabel() for axis in figure.axes} | {figure.get_supxlabel()}
    wanted = {"epsilon": "epsilon", "depth": "depth", "words": "v"}
    assert wanted.get(varied, "accuracy (%); bars: two standard errors") in labels


# --- what is committed ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", experiment_names())
def test_tables_name_what_exists(name):
    """A slip in a table would otherwise show as a figure that is never compared."""
    found = find_experiment(name)
    assert found.name == name
    metric = find_metric(found.metric)
    keys = {(cell.dataset, cell.method, cell.epsilon, cell.setting) for cell in found.published_cells()}
    for dataset, method, epsilon, _ in keys:
        assert dataset in found.datasets, dataset
        assert method in found.methods, method
        free = (known := find(method)) is not None and not known.private and found.compute is None
        if known is not None:
            assert (math.isinf(epsilon)) if free else epsilon in found.epsilons_for(dataset), (
                method,
                epsilon,
            )
    assert {setting for *_, setting in keys} <= set(found.setting_keys())
    if metric.percent:
        assert all(0 <= value <= 1 for value in found.published.values())
    assert set(found.published_spread) <= set(found.published)
    assert set(found.labels) | set(found.published_void) <= set(found.methods)
    assert set(found.quick_datasets or ()) <= set(found.datasets)


def test_the_page_of_results_is_what_the_kept_results_give():
    page = (DOCS / "results.md").read_text(encoding="utf-8")
    assert page == results_page(DOCS / "results"), "run python docs/results/write_results.py"


def test_kept_results_prefer_full_runs(tmp_path, monkeypatch):
    tiny = experiment(repeats=3, published={("first", "CART", math.inf): 0.9})
    monkeypatch.setattr("dpforest.papers.experiments.page.experiment_names", lambda: (tiny.name,))
    monkeypatch.setattr("dpforest.papers.experiments.page.find_experiment", lambda name: tiny)
    run(tiny, tmp_path, quick=True, n_jobs=1, load=load)
    keep(tmp_path, tmp_path / "kept")
    assert {one.repeats for one in read_kept(tmp_path / "kept" / "999-table1.csv").values()} == {2}
    done = run(tiny, tmp_path, n_jobs=1, load=load)
    keep(tmp_path, tmp_path / "kept")
    assert {one.repeats for one in read_kept(tmp_path / "kept" / "999-table1.csv").values()} == {3}
    (tmp_path / "kept" / "remarks.toml").write_text('"999-table1" = "Because."\n"999" = "A fine paper."\n')
    page = results_page(tmp_path / "kept")
    assert "## Nobody (2024)" in page
    assert "Because." in page
    assert "A fine paper." in page
    assert len(read_results(done.path)) == 12
    one = replace(tiny, datasets=("first",))
    monkeypatch.setattr("dpforest.papers.experiments.page.find_experiment", lambda name: one)
    run(one, tmp_path / "again", n_jobs=1, load=load, repeats=1)
    keep(tmp_path / "again", tmp_path / "kept")
    again = read_kept(tmp_path / "kept" / "999-table1.csv").values()
    assert {(s.dataset, s.repeats) for s in again} == {
        ("first", 3),
        ("second", 3),
    }  # one says less than three
    run(one, tmp_path / "again", n_jobs=1, load=load, repeats=4)
    keep(tmp_path / "again", tmp_path / "kept")
    again = read_kept(tmp_path / "kept" / "999-table1.csv").values()
    assert {(s.dataset, s.repeats) for s in again} == {("first", 4), ("second", 3)}
