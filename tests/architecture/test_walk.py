"""The walk of a row on the architecture page names what there is, where it says that it is."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "dpforest"
PAGE = (ROOT / "docs" / "explanation" / "architecture.md").read_text()
WALK = PAGE[PAGE.index("## The walk of a row") :].split("\n## ")[0]
STEPS = [line.split("|")[1:4] for line in WALK.splitlines() if line.startswith("|")][2:]


def files_of(where):
    """Files of the second column: paths, of which later ones may leave out the room, or rooms."""
    places, room = [], ""
    for place in re.findall(r"`([\w/.]+)`", where):
        path = SOURCE / place
        if not path.exists():
            path = SOURCE / room / place
        assert path.exists(), f"{place} is not there"
        room = str(path.relative_to(SOURCE).parent) if path.suffix else room
        places += [path] if path.suffix else sorted(path.rglob("*.py"))
    return places


def test_the_walk_begins_at_fit_and_ends_at_predict():
    assert "`PrivateForest.fit`" in STEPS[0][0]
    assert "`predict`" in STEPS[-1][0]


@pytest.mark.parametrize(("step", "where", "_"), STEPS, ids=[step.strip() for step, *_ in STEPS])
def test_every_step_is_where_the_page_says(step, where, _):
    text = "\n".join(path.read_text() for path in files_of(where))
    for name in re.findall(r"`([\w.]+)(?:\([\w]*\))?`", step):
        for word in name.split("."):
            assert re.search(rf"\b(def|class) {word}\b|^{word}\b.*=", text, re.MULTILINE), (
                f"{word} is not in {where}"
            )
