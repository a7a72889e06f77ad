"""What the page about pictures says can be typed in, and does what it says."""

import re
from pathlib import Path

import matplotlib as mpl

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "pictures.md"


def test_the_page_runs(tmp_path, monkeypatch):
    mpl.use("Agg")
    monkeypatch.chdir(tmp_path)
    code = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.S)
    assert len(code) >= 3
    exec(compile("\n".join(code), str(PAGE), "exec"), {})
    assert (tmp_path / "tree.png").exists()
