"""The comparison with other libraries says what was kept, and the picture of the README does not flatter."""

import csv
from pathlib import Path

from tools import compare, utility_page

ROOT = Path(__file__).parents[2]


def test_the_measured_part_is_up_to_date():
    text = compare.PAGE.read_text("utf-8")
    assert text == compare.page(text), "run: python -m tools.compare"


def test_the_picture_of_the_readme_shows_what_its_words_say():
    """Both forms are above the others on every table and at every budget that was measured."""
    with (compare.RESULTS / "utility.csv").open() as file:
        found = {(r["table"], r["method"], r["epsilon"]): float(r["score"]) for r in csv.DictReader(file)}
    compared = 0
    for (table, method, epsilon), score in found.items():
        if table in utility_page.SHOWN and method in set(utility_page.NAMES) - {"boosted", "pure"}:
            assert score < min(found[table, form, epsilon] for form in ("boosted", "pure")), (table, method)
            compared += 1
    assert compared > 50
    words = (ROOT / "README.md").read_text("utf-8").split("![")[1].split(")")[0]
    assert "both forms of the default forest are above DP-EBM, AIM with LightGBM and diffprivlib" in words
    assert "docs/results/accuracy.svg" in words
