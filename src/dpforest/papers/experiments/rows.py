"""The page that goes through the papers row by row: what of them is here, and what came out.

Its source is ``docs/results/rows.txt``, Markdown in which a row of a table has a name, a state and a reason;
``{experiment}`` or ``{experiment: method, method}`` in the reason stands for kept results. `rows_page` adds a
column that says what they gave, so that it never disagrees with the files. `docs/results/write_results.py`
calls it.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from dpforest.papers.experiments.catalogue import find_experiment
from dpforest.papers.experiments.claims import Claim, judge
from dpforest.papers.experiments.experiment import Cell, Experiment
from dpforest.papers.experiments.methods import AS_PUBLISHED
from dpforest.papers.experiments.summary import Summary, compare, read_kept, shortfall
from dpforest.papers.experiments.tables._claims import CLAIMS

__all__ = ["Outcome", "rows_page"]

STATES = ("right", "differs", "missing")
BY_CHANCE = 0.05  # of figures that are the same differ by more than two standard errors
_REFERENCE = re.compile(r"\{([a-z0-9-]+)(?:: ([^}]*))?\}")


class Outcome(NamedTuple):
    """What came out of a row.

    Parameters
    ----------
    word : {"yes", "partly", "no", "cannot tell", "no numbers", "not run"}
        In short.
    detail : str
        Figures or claims that came out, and repeats.
    """

    word: str
    detail: str = ""

    def __str__(self) -> str:
        return f"{self.word} ({self.detail})" if self.detail else self.word


def rows_page(kept: str | os.PathLike[str]) -> str:
    """Write the page.

    Parameters
    ----------
    kept : path
        Folder with the kept files and ``rows.txt``.

    Returns
    -------
    str
        Markdown.
    """
    lines, states, words, strict = [], Counter[str](), Counter[str](), 0
    for line in (Path(kept) / "rows.txt").read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")] if line.startswith("| ") else []
        if len(cells) != 3 or cells[1] not in STATES:
            lines.append(line)
            continue
        name, state, reason = cells
        found = [_outcome(Path(kept), *reference) for reference in _REFERENCE.findall(reason)]
        states[state] += 1
        words.update(one.word for one in found)
        strict += state == "right" and all(one.word == "yes" for one in found)
        told = "; ".join(map(str, found)) or "-"
        lines.append(f"| {name} | {state} | {told} | {_REFERENCE.sub(_label, reason)} |")
    return "\n".join([*lines, ""]).replace("{counts}", _counts(states, words, strict))


def _label(reference: re.Match[str]) -> str:
    return reference[1]


def _counts(states: Counter[str], words: Counter[str], strict: int) -> str:
    shown = ("yes", "partly", "no", "cannot tell", "no numbers", "not run")
    told = ", ".join(f"{word}: {words[word]}" for word in shown if words[word])
    return (
        f"Of {states.total()} rows {states['right']} are right, {states['differs']} differ and "
        f"{states['missing']} are missing. What came out of the {words.total()} reruns: {told}. Counted "
        f"strictly, so that a rerun is right only if what is printed came out, {strict} rows are right."
    )


def _outcome(kept: Path, name: str, methods: str) -> Outcome:
    experiment = find_experiment(name)
    wanted = tuple(part.strip() for part in methods.split(",")) if methods else experiment.methods
    unknown = set(wanted) - set(experiment.methods)
    if unknown:
        raise ValueError(f"{name} has no methods {sorted(unknown)}.")
    summaries = _kept(kept, name)
    if not summaries:
        return Outcome("not run")
    mine = {c: s for c, s in summaries.items() if c.method.removesuffix(AS_PUBLISHED) in wanted}
    run = shortfall(experiment, mine).removeprefix("quick: ") or _repeats(experiment, mine)
    figures = _of_figures(experiment, wanted, summaries)
    if figures is None:
        figures = _of_claims(kept, [claim for claim in _claims(name) if _speaks_of(claim, wanted)])
    return figures._replace(detail=", ".join(part for part in (figures.detail, run) if part))


def _kept(kept: Path, name: str) -> Mapping[Cell, Summary]:
    path = kept / f"{name}.csv"
    return read_kept(path) if path.exists() else {}


def _of_figures(
    experiment: Experiment, wanted: tuple[str, ...], summaries: Mapping[Cell, Summary]
) -> Outcome | None:
    """Count the printed figures that come out; None if there are none to compare."""
    judged = [
        c for c in compare(experiment, summaries) if c.cell.method in wanted and c.reproduced is not None
    ]
    if not judged:
        return None
    same = sum(bool(c.reproduced) and not c.cannot_tell for c in judged)
    told = len(judged) - sum(c.cannot_tell for c in judged)
    detail = f"{same} of {len(judged)} figures"
    if 2 * told < len(judged):
        return Outcome("cannot tell", detail)
    if told - same <= BY_CHANCE * told:
        return Outcome("yes", detail)
    return Outcome("partly" if same else "no", detail)


def _of_claims(kept: Path, claims: list[Claim]) -> Outcome:
    verdicts = [judge(claim, lambda name: _kept(kept, name)).verdict for claim in claims]
    holds, fails = verdicts.count("holds"), verdicts.count("does not hold")
    if not verdicts:
        return Outcome("no numbers")
    detail = f"{holds} of {len(verdicts)} claims"
    if fails:
        return Outcome("partly" if holds else "no", detail)
    return Outcome("yes" if holds == len(verdicts) else "cannot tell", detail)


def _claims(experiment: str) -> list[Claim]:
    return [claim for claim in CLAIMS.get(experiment.split("-")[0], ()) if claim.experiment == experiment]


def _speaks_of(claim: Claim, wanted: tuple[str, ...]) -> bool:
    """Whether all of the sides that a claim is about are wanted."""
    sides = {side.method.removesuffix(AS_PUBLISHED) for side in (*claim.better, *claim.worse)}
    return sides <= set(wanted)


def _repeats(experiment: Experiment, summaries: Mapping[Cell, Summary]) -> str:
    """Say how many repeats a whole run has, the paper's number or more; formulas have none."""
    if experiment.compute is not None or not summaries:
        return ""
    return f"{min(summary.repeats for summary in summaries.values())} repeats"
