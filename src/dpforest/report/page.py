"""The card as one HTML page: no network, no dependency, light and dark, printable.

Every text that comes from a model goes through `shown`: markup is escaped, and characters that steer the
direction or hide are written out. The page forbids itself to load or run anything but its own parts.
"""

from __future__ import annotations

import base64
import hashlib
import math
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from importlib.resources import files

from dpforest.inspection.rules import Rule
from dpforest.report.drawings import MOST_PICTURES, draw_leaves, draw_shape
from dpforest.report.facts import Facts, best_guess, relation_in_words
from dpforest.report.text import shown

_LIMITS = (
    "The promise is about this model. Other releases from the same rows add to it; a budget keeps the sum.",
    "Facts about whole groups are what a model is for: the promise hides single people, not what is true of "
    "many. If smoking harms, the model may say so, also about a smoker who never took part.",
    "Small groups are predicted worse: noise weighs more where there are few rows.",
    "Bounds, categories and classes were declared public; the promise does not cover them.",
    "How long the training took, and where the file lay, are not covered.",
)


def card(facts: Facts, title: str = "Model card") -> str:
    """Lay the facts out as a page.

    Parameters
    ----------
    facts : Facts
        What to tell.
    title : str
        Heading of the page.
    """
    style, script = (files("dpforest.report").joinpath(name).read_text("utf-8") for name in _PARTS)
    allowed = "; ".join(
        ["default-src 'none'", f"style-src '{_hash(style)}'", f"script-src '{_hash(script)}'"]
    )
    body = "\n".join(_sections(facts, title))
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{allowed}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{shown(title)}</title>\n<style>{style}</style>\n</head>\n<body>\n<main>\n{body}\n</main>\n"
        f"<script>{script}</script>\n</body>\n</html>\n"
    )


_PARTS = ("card.css", "card.js")


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _sections(facts: Facts, title: str) -> Iterator[str]:
    yield f'<h1>{shown(title)}</h1>\n<p class="soft">{shown(facts.estimator)}, {_forest(facts)}</p>'
    yield _promise(facts)
    yield _section("Who answers for it", _answering(facts))
    yield _section("Where the budget went", _budget(facts))
    if facts.scores:
        yield _section("How well it predicts", _scores(facts))
    if facts.importances:
        yield _section("What it looks at", _bars(facts.importances))
    if facts.shapes:
        yield _section("What each value adds", _shapes(facts))
    if facts.leaves:
        yield _section("Noise against signal", _noise(facts))
    yield _section("What was declared public", _declared(facts))
    yield _section("Rules", _trees(facts))
    yield _section("Limits", "<ul>" + "".join(f"<li>{shown(limit)}</li>" for limit in _LIMITS) + "</ul>")
    checksum = (
        f" Checksum of the model file (SHA-256): <code>{shown(facts.checksum)}</code>."
        if facts.checksum
        else ""
    )
    versions = ", ".join(f"{shown(name)} {shown(version)}" for name, version in facts.versions)
    yield f'<p class="soft">Written by {versions}.{checksum} Every value here is public or was released.</p>'


def _section(heading: str, body: str) -> str:
    return f"<section>\n<h2>{heading}</h2>\n{body}\n</section>"


def _forest(facts: Facts) -> str:
    trees = "1 tree" if facts.n_trees == 1 else f"{facts.n_trees} trees"
    return f"{trees} of depth {facts.depth}"


def _promise(facts: Facts) -> str:
    promise = facts.guarantee
    if not promise.is_proven:
        return f'<div class="promise bad"><strong>Nothing is promised.</strong><p>{shown(promise)}</p></div>'
    factor = _rounded_up(math.exp(min(promise.epsilon, 700.0)))
    rarely = f", except with a chance of {promise.delta:.2g}" if promise.delta else ""
    guess = 100 * best_guess(promise.epsilon, promise.delta)
    public = ""
    if facts.has_public_rows:
        public = (
            "\n<p>How features spread and hang together was learnt from rows that the owner calls public: "
            "nothing is promised to these.</p>"
        )
    return (
        f'<div class="promise good"><strong>{shown(promise)}</strong></div>\n'
        f"<p>Compare {shown(relation_in_words(promise))}. Whatever anybody concludes from this model would "
        f"have been at most {factor} times as likely, or as unlikely, with the other table{rarely}.</p>\n"
        "<p>Somebody who knows everything about everyone else, and guesses at even odds which of the two "
        f"tables it was, is right in at most {guess:.1f} % of cases; a blind guess is right in 50 %.</p>"
        f"{public}"
    )


def _rounded_up(factor: float) -> str:
    """Write a factor with three digits, none too small.

    Examples
    --------
    >>> _rounded_up(2.718281828), _rounded_up(1.0), _rounded_up(22026.4657)
    ('2.72', '1', '22,100')
    """
    unit = Fraction(10) ** (math.floor(math.log10(factor)) - 2)
    return f"{float(math.ceil(Fraction(factor) / unit) * unit):,.12g}"


def _answering(facts: Facts) -> str:
    signed = "No signature was checked: the promise is the word of whoever wrote the file."
    if facts.signed_by is not None:
        signed = f"Signed with the key of fingerprint <code>{shown(facts.signed_by)}</code>."
    charged = "The fit was charged to nobody."
    if facts.receipt is not None:
        receipt = facts.receipt
        charged = (
            f"Charge {receipt.count} of the budget of <code>{shown(receipt.dataset)}</code>, "
            f"receipt <code>{shown(receipt.head)}</code>."
        )
    return f"<p>{signed}</p>\n<p>{charged}</p>"


def _budget(facts: Facts) -> str:
    symbol = facts.ledger.plan.symbol
    rows = [
        [shown(s.purpose), f"{s.amount:.4g}", _bar(s.share), f"{100 * s.share:.1f}&nbsp;%"]
        for s in facts.spending
    ]
    picture = _table(["for", symbol, "part", "share"], rows, wide=2)
    queries = []
    for event in facts.ledger:
        sd = event.parameters.get("noise_sd")
        noise = f"{sd:.3g}" if isinstance(sd, float) else ""
        queries.append(
            [
                shown(event.purpose),
                shown(event.mechanism),
                shown(event.rows),
                noise,
                f"{float(event.cost):.4g}",
            ]
        )
    every = _table(["query", "mechanism", "rows", "noise (sd)", symbol], queries)
    heading = f"Every query to private rows ({len(queries)})"
    return f"{picture}\n<details><summary>{heading}</summary>{every}</details>"


def _bars(shares: Sequence[tuple[str, float]]) -> str:
    most = max((share for _, share in shares), default=0.0) or 1.0
    rows = [[shown(name), _bar(max(share, 0.0) / most), f"{share:.3f}"] for name, share in shares]
    told = "<p>Importances, computed from released values: noisy, as everything here.</p>"
    return told + _table(["column", "compared", "importance"], rows, wide=1)


def _bar(share: float) -> str:
    """Draw a bar as a picture of its own, so that the page needs no style in its elements."""
    width = max(0.0, min(share, 1.0)) * 100
    return (
        '<svg class="bars" width="100%" height="12" role="presentation">'
        f'<rect class="bar" width="{width:.1f}%" height="12"></rect></svg>'
    )


def _scores(facts: Facts) -> str:
    rows = [
        [
            shown(s.group),
            shown(s.metric),
            f"{s.rows:,.0f}",
            f"{s.value:.4g}",
            f"±&nbsp;{2 * s.error:.2g}" if math.isfinite(s.error) else "not known",
            "not known" if s.baseline is None else f"{s.baseline:.4g}",
            shown(s.price),
        ]
        for s in facts.scores
    ]
    told = []
    if any(not s.price for s in facts.scores):
        told.append("Rows without a price are rows that the owner calls public.")
    if any(s.price for s in facts.scores):
        told.append(
            "Rows with a price are private: their scores are noisy, and the price adds to the model's."
        )
    told.append(
        "The margin is two standard deviations, of chance and noise: small groups are known less well. The "
        "baseline is what a model without features reaches: always the most frequent class, or the mean; of "
        "private rows by noisy counts that were released."
    )
    header = ["rows", "metric", "how many", "score", "margin", "baseline", "price"]
    return f"<p>{' '.join(told)}</p>" + _table(header, rows)


def _shapes(facts: Facts) -> str:
    told = (
        "<p>What each value of a column adds to the answer: exact for the released model, noise and all. "
        "Where there were no people a shape says nothing.</p>"
    )
    return told + '<div class="shapes">' + "".join(map(draw_shape, facts.shapes)) + "</div>"


def _noise(facts: Facts) -> str:
    rows = [
        [
            str(one.tree),
            f"{one.noise_sd:.3g}",
            f"{one.median_count:.4g}",
            f"{one.below_noise} of {one.n_leaves}",
        ]
        for one in facts.leaves
    ]
    told = (
        "<p>In every leaf of a tree: the noise in a count, the median over leaves of the largest count, and "
        "how many leaves hold less than one standard deviation of noise. A bar stands for a leaf, "
        "largest first, on a scale of powers of ten; the line is the noise.</p>"
    )
    pictures = "".join(draw_leaves(one) for one in facts.leaves[:MOST_PICTURES])
    table = _table(["tree", "noise (sd)", "median count", "leaves below the noise"], rows)
    return f'{told}<div class="shapes">{pictures}</div>{table}'


def _declared(facts: Facts) -> str:
    rows = [[shown(name), f"<code>{shown(what)}</code>", str(splits)] for name, what, splits in facts.columns]
    target = f"<p>The target is <code>{shown(facts.target)}</code>.</p>"
    made = ", ".join(f"{shown(name)} = {shown(value)}" for name, value in facts.parameters.items())
    return target + _table(["column", "declared", "nodes that cut it"], rows) + f"<p>Made with {made}.</p>"


def _trees(facts: Facts) -> str:
    search = (
        '<p class="search"><label>Search the rules <input id="search" type="search"></label> '
        '<span id="found" aria-live="polite"></span></p>'
    )
    trees = [
        f"<details{' open' if not at else ''}><summary>Tree {at}</summary>{''.join(_rules(rules))}</details>"
        for at, rules in enumerate(facts.trees)
    ]
    left_out = facts.n_trees - len(facts.trees)
    more = f'<p class="soft">{left_out} more in the model file.</p>' if left_out else ""
    scales = f"<p>{shown(facts.scales)}</p>" if facts.scales else ""
    return scales + search + "\n".join(trees) + more


def _rules(rules: Iterable[Rule]) -> Iterator[str]:
    for rule in rules:
        words = f'<span class="rule">{shown(rule.words)}</span>'
        if rule.follows:
            yield f"<details><summary>{words}</summary>{''.join(_rules(rule.follows))}</details>\n"
        else:
            yield f'<div class="leaf">{words}</div>\n'


def _table(header: Sequence[str], rows: Sequence[Sequence[str]], wide: int | None = None) -> str:
    """Lay out a table whose cells are HTML already; `wide` is the column of a picture."""

    def kind(at: int) -> str:
        return ' class="wide"' if at == wide else ""

    head = "".join(f'<th scope="col"{kind(at)}>{name}</th>' for at, name in enumerate(header))
    body = "\n".join(
        "<tr>" + "".join(f"<td{kind(at)}>{cell}</td>" for at, cell in enumerate(row)) + "</tr>"
        for row in rows
    )
    return (
        f'<div class="scroll" tabindex="0"><table><thead><tr>{head}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>"
    )
