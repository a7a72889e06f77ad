"""The gallery of broken promises: what papers claim, what it costs, and what the repaired form costs.

`gallery` runs every case of `dpforest.papers.gallery` twice, as published and as repaired here, on the
same pair
of tables. The command line prints its report; `write_page` keeps docs/explanation/broken-promises.md in step.
"""

from __future__ import annotations

import math
import os
from pathlib import Path
from textwrap import wrap

from dpforest.audit.result import AuditReport, AuditResult
from dpforest.papers.gallery import Case, all_cases

__all__ = ["gallery", "markdown", "write_page"]

PAGE_WIDTH = 120
BEGIN, END = "<!-- gallery: begin -->", "<!-- gallery: end -->"


def gallery(quick: bool = False) -> AuditReport:
    """Audit the published form and the repaired form of every case.

    All probabilities are computed, except in the attacks on single bits, which draw with fixed seeds; so two
    calls give the same report. Ctrl-C returns the cases that are done.

    Parameters
    ----------
    quick : bool, default=False
        Draw an eighth as many outputs in the attacks on single bits.

    Returns
    -------
    AuditReport
        Two results per case: the published form, whose loss exceeds its claim, then the repaired one.

    Examples
    --------
    >>> report = gallery(quick=True)
    >>> print(report[0])
    median by index, published: violation found.
      It promises that one person changes the probability of any outcome by a factor of at most 2.718
      (epsilon = 1). The outcome "the threshold lies between 1/2-h and 1/2+h" changes by a factor of
      2.672e+05 (epsilon = 12.5) between these tables: {0, 1/2-h, 1}, and the same with 1/2+h, h = 1e-6.
      ...
    >>> len(report.violations) == len(report) / 2
    True
    """
    results: list[AuditResult] = []
    try:
        for case in all_cases(quick):
            results.extend((case.published(), case.repaired()))
    except KeyboardInterrupt:
        return AuditReport(results, interrupted=True)
    return AuditReport(results)


def markdown() -> str:
    """Return the table of all cases and a paragraph about each, in Markdown.

    Returns
    -------
    str
    """
    cases = all_cases()
    found = [(case, case.published(), case.repaired()) for case in cases]
    table = ["| case | claimed | as published | here |", "|---|---|---|---|"]
    for case, published, repaired in found:
        numbers = " | ".join(map(_number, (published.claim, published.loss, repaired.loss)))
        table.append(f"| {case.name} | {numbers} |")
    return "\n".join([*table, "", *(_paragraph(*entry) for entry in found)])


def write_page(path: str | os.PathLike[str]) -> None:
    """Write the table and the paragraphs into a page, between its two marks.

    Parameters
    ----------
    path : path
        A Markdown file with both marks.
    """
    page = Path(path)
    head, rest = page.read_text(encoding="utf-8").split(BEGIN)
    _, tail = rest.split(END)
    page.write_text(f"{head}{BEGIN}\n\n{markdown()}\n{END}{tail}", encoding="utf-8")


def _paragraph(case: Case, published: AuditResult, repaired: AuditResult) -> str:
    facts = [
        f"*{_sentence(case.paper)}* {case.claims} Claimed: {_number(published.claim)}.",
        f"Tables: {case.pair}.",
        f"Published: {case.event}: {_loss(published)}.",
        f"Repaired: {repaired.event}: {_loss(repaired)}.",
    ]
    items = [line for fact in facts for line in _item(fact)]
    return "\n".join([f"### {case.name[0].upper()}{case.name[1:]}", "", *items, ""])


def _item(text: str) -> list[str]:
    return wrap(
        f"- {text}", PAGE_WIDTH, subsequent_indent="  ", break_on_hyphens=False, break_long_words=False
    )


def _loss(result: AuditResult) -> str:
    note = f" ({result.note})" if result.note else ""
    return f"log-ratio {_number(result.loss)}{note}"


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}."


def _number(value: float) -> str:
    return "infinite" if math.isinf(value) else f"{value:.4g}"
