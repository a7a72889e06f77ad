"""Write docs/results.md and docs/papers.md from the kept results, and first, if a folder is given, those.

Run ``python docs/results/write_results.py [FOLDER]`` after `dpforest bench run --folder FOLDER`, or after the
reasons in remarks.toml or rows.txt changed; a test compares.
"""

from __future__ import annotations

import sys
from pathlib import Path

from dpforest.papers.experiments.page import keep, results_page
from dpforest.papers.experiments.rows import rows_page

KEPT = Path(__file__).parent

if __name__ == "__main__":
    for folder in sys.argv[1:]:
        keep(folder, KEPT)
    (KEPT.parent / "results.md").write_text(results_page(KEPT), encoding="utf-8")
    (KEPT.parent / "papers.md").write_text(rows_page(KEPT), encoding="utf-8")
