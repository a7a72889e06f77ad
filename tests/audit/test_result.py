"""Results say what was found, and never that anything is private."""

import json
import math

import pytest

from dpforest.audit import AuditReport, AuditResult

KEPT = AuditResult("kept", 1.0, 0.7, "statistical", 1 - 1e-6, "no row, and one row", "count >= 1", 5000)
BROKEN = AuditResult("broken", 1.0, math.inf, "exact", 1.0, "no row, and one row", "count = 0")


def test_verdicts():
    assert BROKEN.verdict == "violation found"
    assert KEPT.verdict == "no violation found at this confidence"


def test_exact_losses_may_exceed_the_claim_by_rounding_only():
    assert not AuditResult("tight", 1.0, 1.0 + 1e-12, "exact", 1.0, "", "").violation
    assert AuditResult("sampled", 1.0, 1.0 + 1e-12, "statistical", 0.95, "", "").violation


@pytest.mark.parametrize("result", [KEPT, BROKEN, AuditResult("nil", math.inf, 0.0, "one run", 0.95, "", "")])
def test_words_never_promise_privacy(result):
    text = str(result)
    assert result.verdict in text
    assert "private" not in text
    assert result.violation or "may lose more" in text


def test_a_lay_reader_gets_factors_and_chances():
    assert "factor of at most 2.718" in str(KEPT)
    assert "factor of at least 2.014" in str(KEPT)
    assert "at most 1e-06" in str(KEPT)
    assert "impossible with the other" in str(BROKEN)


def test_report_as_json_frame_and_text():
    report = AuditReport([KEPT, BROKEN])
    assert json.loads(json.dumps(report.to_records()))[1]["loss"] == "inf"
    frame = report.to_frame()
    assert frame["verdict"].tolist() == [KEPT.verdict, BROKEN.verdict]
    assert frame["loss"].tolist() == [0.7, math.inf]
    assert KEPT.to_frame().shape == (1, frame.shape[1])
    assert "violations found: 1 of 2" in str(report)
    assert "interrupted" in str(report + AuditReport([], interrupted=True))


def test_plot_shows_every_case_with_its_claim():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("agg")
    ax = AuditReport([KEPT, BROKEN]).plot()
    assert [label.get_text() for label in ax.get_yticklabels()] == ["kept", "broken"]
    assert len(ax.patches) == 2
    assert math.isfinite(ax.get_xlim()[1])
    assert KEPT.plot(ax) is ax
    matplotlib.pyplot.close("all")
