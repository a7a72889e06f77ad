"""What the page about exports says can be typed in, and does what it says."""

import re
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "export.md"


def test_the_page_runs():
    code = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.S)
    assert len(code) > 3
    exec(compile("\n".join(code), str(PAGE), "exec"), {})
