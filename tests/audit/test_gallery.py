"""The gallery finds every flaw, flags no repair, and says the numbers that the page and the registry say."""

import math
import re
from fractions import Fraction
from importlib import import_module
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from dpforest.mechanisms import Rate, discrete_laplace_log_pmf, permute_and_flip_log_pmf
from dpforest.papers.gallery import (
    Case,
    all_cases,
    doubles,
    groups,
    leaf_means,
    median_splits,
    partitioning,
    random_trees,
    rigorous,
)
from dpforest.papers.gallery.case import Measured, make_case, worst
from dpforest.papers.gallery.run import BEGIN, END, gallery, markdown, write_page
from dpforest.papers.published import BROKEN_PROMISES
from dpforest.papers.published.draws import between
from dpforest.schema import Numeric

gallery_module = import_module("dpforest.papers.gallery.run")  # the room's attribute may be the function
PAGE = Path(__file__).parents[2] / "docs" / "explanation" / "broken-promises.md"


@pytest.fixture(scope="module")
def report():
    return gallery(quick=True)


@pytest.fixture(scope="module")
def by_name(report):
    return {result.name: result for result in report}


def test_every_published_form_is_flagged_and_no_repaired_one(report):
    assert len(report) == 2 * len(all_cases()) >= 46
    for published, repaired in zip(report[::2], report[1::2], strict=True):
        assert published.name.endswith(", published")
        assert repaired.name == published.name.replace("published", "repaired")
        assert published.violation, published.name
        assert not repaired.violation, repaired.name
        assert 0 < repaired.loss <= repaired.claim, repaired.name
        assert (published.claim, published.pair) == (repaired.claim, repaired.pair)


def test_two_calls_agree(report):
    assert gallery(quick=True) == report


# What an independent computation of the same counterexamples found, to the digits that it gave.
LOSSES = {
    "permute-and-flip between data points": 12.4,
    "permute-and-flip with lengths as scores": 10.6,
    "K hidden medians": 2.19,
    "unweighted child errors": 5.37,
    "noise on a leaf mean": 5.0,
    "noise on a clamped leaf mean": 0.743,
    "equal parts, class counts": 2.91,
    "equal parts, labels": 1.85,
    "contiguous chunks": 20.0,
    "labels by smooth sensitivity": 6.32,
    "noise given by its standard deviation": 0.194,
    "rate read as a scale": 3219,
    "whole budget at every level": 9.94,
    "label privacy": 2.0,
    "all rows in all trees": 14.94,
}


@pytest.mark.parametrize("name", LOSSES)
def test_losses_are_those_of_an_independent_computation(name, by_name):
    assert by_name[f"{name}, published"].loss == pytest.approx(LOSSES[name], rel=0.004)


def test_losses_of_other_parameters():
    assert median_splits.index_loss(1e-6, 1.0, last_index=False) == pytest.approx(12.57, abs=0.005)
    assert median_splits.hidden_medians_loss(10) == pytest.approx(4.37, abs=0.005)
    assert median_splits.hidden_medians_loss(1) <= 0.5  # one candidate is worth its price
    assert median_splits.unweighted_error_loss(1000, 1.0) == pytest.approx(61.6, abs=0.05)
    assert random_trees.smooth_loss(3, 1.0) == pytest.approx(17.3, abs=0.05)
    assert random_trees.smooth_loss(50, 0.1) == pytest.approx(0.78, abs=0.005)
    assert leaf_means.clamped_loss(1.0) == pytest.approx(1.19, abs=0.005)
    assert groups.equal_histogram_loss(100) == pytest.approx(2.99, abs=0.005)
    assert partitioning.outlier_chance(0.05) == pytest.approx(0.987, abs=0.0005)


REGISTRY = [
    ("dipri_me", "K candidate medians at the price of one", "K hidden medians"),
    ("dipri_me", "median by index", "median by index"),
    ("dipri_me", "permute-and-flip between data points", "permute-and-flip between data points"),
    ("dipri_me", "noise on leaf means", "noise on a leaf mean"),
    ("dipri_me", "empty leaves in regression", "empty leaf"),
    ("dipri_me", "equal parts for the trees", "equal parts, class counts"),
    ("dipri_me", "depth from the number of rows", "depth from the number of rows"),
    ("dipri_me", "floating-point thresholds", "thresholds in doubles"),
    (
        "smooth_sensitivity_forest",
        "smooth sensitivity in the exponential mechanism",
        "labels by smooth sensitivity",
    ),
    (
        "random_decision_trees",
        "noise given by its standard deviation",
        "noise given by its standard deviation",
    ),
    ("random_decision_trees", "budget from the number of rows", "budget from the number of rows"),
    (
        "partitioning_ensemble",
        "medians between the data's extremes",
        "median between the data's extremes",
    ),
    ("partitioning_ensemble", "stopping at ten rows", "stop at ten rows"),
    ("partitioning_ensemble", "label privacy", "label privacy"),
    ("transductive_ensemble", "all rows in all trees", "all rows in all trees"),
]


@pytest.mark.parametrize(("function", "what", "name"), REGISTRY)
def test_warnings_of_the_estimators_say_the_same_numbers(function, what, name, by_name):
    promise = next(p for p in BROKEN_PROMISES[function] if p.what == what)
    result = by_name[f"{name}, published"]
    assert (promise.claimed, promise.loss) == pytest.approx((result.claim, result.loss), abs=0.006)


# --- the repaired side is computed rightly -------------------------------------------------------------


def test_the_law_of_scattered_labels_is_that_of_all_assignments():
    """Three rows in two trees: all ways in which they can fall, one by one."""
    epsilon = Fraction(1)

    def law(labels):
        chances = np.zeros((2, 2))
        for trees in product((0, 1), repeat=len(labels)):
            counts = np.zeros((2, 2), int)
            np.add.at(counts, (list(trees), labels), 1)
            first, second = np.exp(permute_and_flip_log_pmf(counts, Rate.floor(epsilon)))
            chances += np.outer(first, second) / 2 ** len(labels)
        return np.log(chances)

    for before, added in (([0, 0, 1], 1), ([0, 0, 0], 1), ([1, 1, 0], 1), ([0, 1, 1], 0)):
        rows = (before.count(0), before.count(1))
        expected = worst(law(before), law([*before, added]))
        assert groups.scattered_label_loss(rows, added, 2, epsilon) == pytest.approx(expected, abs=1e-12)


def test_scattered_counts_by_brute_force():
    """Two rows and one more of another class in two trees, over a box of outputs."""
    rate, outputs = Rate(1, 0), np.array(list(product(range(-1, 4), repeat=4))).reshape(-1, 2, 2)

    def law(classes):
        terms = []
        for trees in product((0, 1), repeat=len(classes)):
            counts = np.zeros((2, 2), int)
            np.add.at(counts, (list(trees), classes), 1)
            terms.append(discrete_laplace_log_pmf(outputs - counts, rate).sum(axis=(1, 2)))
        return np.logaddexp.reduce(terms, axis=0) - math.log(2 ** len(classes))

    assert groups.scattered_histogram_loss(2) == pytest.approx(worst(law([0, 0]), law([0, 0, 1])), abs=1e-12)


@pytest.mark.parametrize("factor", [2, Fraction(1, 2)])
def test_a_wrong_rate_shows(factor):
    """Halved noise is above the claim, doubled noise leaves half of the budget unused."""
    zeros = [0.0] * 11
    median = rigorous.median_loss(Numeric(0, 1), zeros, [*zeros, 1.0], Fraction(1) * factor)
    count = rigorous.count_loss([3, 0], [3, 1], Rate.floor(Fraction(1) * factor))
    label = rigorous.label_loss([3, 1], [4, 1], Fraction(1) * factor)
    assert [median, count, label] == pytest.approx([float(factor)] * 3, abs=0.02)


def test_whole_budget_at_every_level_would_show():
    assert partitioning.path_loss([Fraction(1)] * 10) > 9.9


# --- bits ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("count", "share"), [(0.0, 0.81), (1.0, 0.61), (10.0, 0.10), (100.0, 0.013)])
def test_noise_in_doubles_is_impossible_for_the_other_count(count, share):
    outputs = np.random.default_rng(11).laplace(count, 1.0, 10_000)
    assert doubles.reachable_counts(outputs, count, 1.0).all()  # the attack never errs about its own
    # Standard error below 0.005; the independent figures are good to 0.01.
    assert 1 - doubles.reachable_counts(outputs, count + 1, 1.0).mean() == pytest.approx(share, abs=0.03)


@pytest.mark.parametrize(
    ("low", "high", "other", "share"), [(0.3, 900.0, 0.3000001, 0.35), (0.1, 0.7, 0.1000001, 0.21)]
)
def test_thresholds_in_doubles_are_impossible_from_other_end_points(low, high, other, share):
    rng = np.random.default_rng(12)
    outputs = np.array([between(low, high, rng) for _ in range(10_000)])
    assert doubles.reachable_thresholds(outputs, low, high).all()
    assert 1 - doubles.reachable_thresholds(outputs, other, high).mean() == pytest.approx(share, abs=0.03)


def test_whole_numbers_and_grids_survive(by_name):
    """Both tables allow the same outputs: all whole numbers, and all borders of the public grid."""
    outputs = np.arange(-(10**6), 10**6)
    for count in (0, 1):
        assert np.isfinite(discrete_laplace_log_pmf(outputs - count, Rate(1, 0))).all()
    feature = Numeric(doubles.LOW, doubles.HIGH)
    for values in (doubles.BEFORE, [*doubles.BEFORE, doubles.NEW]):
        assert np.isfinite(rigorous.median_log_pmf(feature, values, Fraction(1))).all()
    for name in ("Laplace noise in doubles", "thresholds in doubles"):
        assert "0% of the outputs were not" in by_name[f"{name}, repaired"].note
        assert 0.9 < by_name[f"{name}, repaired"].loss <= 1


def test_an_output_that_the_other_table_cannot_give_would_be_found(monkeypatch):
    """A planted bug: noise that never falls below -3."""
    monkeypatch.setattr(
        doubles, "discrete_laplace_log_pmf", lambda k, rate: np.where(k < -3, -np.inf, -np.abs(k))
    )
    assert doubles.bit_attacks(2**11)[0].repaired().loss == math.inf


# --- the page ------------------------------------------------------------------------------------------

NUMBER, SHARE = re.compile(r"(?<![\w.])\d+(?:\.\d+)?(?:e-?\d+)?"), re.compile(r"(\d+)%")


def test_the_page_is_up_to_date():
    """Word by word; shares of drawn outputs within two percent, as another numpy may draw other bits."""
    written = " ".join(PAGE.read_text(encoding="utf-8").split(BEGIN)[1].split(END)[0].split())
    generated = " ".join(markdown().split())
    shares, texts, numbers = [], [], []
    for text in (written, generated):
        shares.append([float(x) for x in SHARE.findall(text)])
        text = SHARE.sub("#", text)
        numbers.append([float(x) for x in NUMBER.findall(text)])
        texts.append(NUMBER.sub("#", text))
    assert texts[0] == texts[1], "run write_page, as the end of the page says"
    assert numbers[0] == pytest.approx(numbers[1], rel=0.001)
    assert len(shares[0]) == 4
    assert shares[0] == pytest.approx(shares[1], abs=2)


def test_the_table_of_the_page_has_the_losses_of_the_report(by_name):
    rows = re.findall(r"^\| (.+) \| (\S+) \| (\S+) \| (\S+) \|$", PAGE.read_text(encoding="utf-8"), re.M)
    shown = {name: numbers for name, *numbers in rows if name != "case"}
    assert set(shown) == {case.name for case in all_cases()}
    for name, (claim, published, repaired) in shown.items():
        expected = [float(x.replace("infinite", "inf")) for x in (claim, published, repaired)]
        found = by_name[f"{name}, published"], by_name[f"{name}, repaired"]
        assert expected == pytest.approx([found[0].claim, found[0].loss, found[1].loss], rel=6e-4)


def test_the_page_keeps_what_is_around_its_marks(tmp_path, monkeypatch):
    monkeypatch.setattr(gallery_module, "all_cases", lambda: all_cases()[:1])
    page = tmp_path / "page.md"
    page.write_text(f"before\n{BEGIN}\nstale\n{END}\nafter\n")
    write_page(page)
    write_page(page)
    text = page.read_text()
    assert text.startswith(f"before\n{BEGIN}\n\n| case")
    assert text.endswith(f"{END}\nafter\n")
    assert "stale" not in text
    assert text.count("### Median by index") == 1


def test_ctrl_c_returns_what_is_done(monkeypatch):
    def stop():
        raise KeyboardInterrupt

    first = all_cases()[0]
    stopped = Case("stopped", "", "", "", "", published=stop, repaired=stop)
    monkeypatch.setattr(gallery_module, "all_cases", lambda quick: (first, stopped, first))
    partial = gallery()
    assert partial.interrupted
    assert [r.name for r in partial] == ["median by index, published", "median by index, repaired"]


def test_a_case_states_its_claim_and_pair_twice():
    case = make_case(
        "x",
        paper="p",
        claims="c",
        claim=0.5,
        pair="D",
        event="E",
        published=lambda: Measured(2.0, note="n", runs=3),
        repaired=lambda: Measured(0.5, event="F"),
    )
    published, repaired = case.published(), case.repaired()
    assert (published.event, published.note, published.runs, published.violation) == ("E", "n", 3, True)
    assert (repaired.event, repaired.claim, repaired.pair, repaired.violation) == ("F", 0.5, "D", False)
