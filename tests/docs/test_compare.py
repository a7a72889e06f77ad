"""The comparison with other libraries says what was kept, and the picture of the README does not flatter."""

from pathlib import Path

from tools import accuracy_picture, compare

ROOT = Path(__file__).parents[2]


def test_the_measured_part_is_up_to_date():
    text = compare.PAGE.read_text("utf-8")
    assert text == compare.page(text), "run: python -m tools.compare"


def test_the_picture_shows_what_its_words_say():
    """Above the others at every budget on all eight tables."""
    found = accuracy_picture.read()
    assert len(found) == 8
    for lines in found.values():
        ours = {epsilon: mean for epsilon, mean, _ in lines["dpforest"]}
        assert set(ours) == {0.1, 0.5, 1.0, 2.0, 5.0, 10.0}
        for method, points in lines.items():
            if method != "dpforest":
                assert all(ours[epsilon] > mean for epsilon, mean, _ in points), method
    words = (ROOT / "README.md").read_text("utf-8").split("![")[1].split("]")[0]
    assert "above DP-EBM, SPE and diffprivlib at every budget" in words
    drawn = accuracy_picture.PICTURE.read_text("utf-8")
    assert all(label in drawn for label, *_ in accuracy_picture.LINES.values())
