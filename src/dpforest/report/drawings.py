"""Pictures of a card as SVG: sizes and classes only, colours are the style sheet's."""

from __future__ import annotations

import math
from itertools import pairwise

from dpforest.report.facts import Leaves
from dpforest.report.shapes import Shape
from dpforest.report.text import shown

MOST_PICTURES = 12
MOST_BARS = 256
WIDTH, HEIGHT, LEFT, BOTTOM = 260, 130, 44, 18  # of a picture, and of the room for its numbers
TOP = 6


def _frame(words: str, inside: str, low: str, high: str, first: str, last: str) -> str:
    """Lay numbers around a picture; `words` is what somebody hears who cannot see it."""
    floor = HEIGHT - BOTTOM
    return (
        f'<svg class="picture" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{shown(words)}">'
        f'<path class="axis" d="M{LEFT} {TOP}V{floor}H{WIDTH}"></path>{inside}'
        f'<text x="{LEFT - 4}" y="{TOP + 6}" text-anchor="end">{shown(high)}</text>'
        f'<text x="{LEFT - 4}" y="{floor}" text-anchor="end">{shown(low)}</text>'
        f'<text x="{LEFT}" y="{HEIGHT - 4}">{shown(first)}</text>'
        f'<text x="{WIDTH}" y="{HEIGHT - 4}" text-anchor="end">{shown(last)}</text></svg>'
    )


def draw_shape(shape: Shape) -> str:
    """Draw the shape of a column: lines over numbers, dots over categories."""
    every = [value for line in shape.lines for value in line.values]
    low, high = min(every), max(every)
    span = high - low or 1.0
    floor, count = HEIGHT - BOTTOM, len(shape.points)

    def place(at: int, value: float) -> tuple[float, float]:
        share = (at + 0.5) / count if not shape.ordered else at / max(count - 1, 1)
        return LEFT + share * (WIDTH - LEFT - 4), floor - 4 - (value - low) / span * (floor - TOP - 8)

    drawn, told = [], []
    for number, line in enumerate(shape.lines):
        places = [place(at, value) for at, value in enumerate(line.values)]
        if shape.ordered:
            steps = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
            drawn.append(f'<polyline class="line line{number}" points="{steps}"></polyline>')
        else:
            drawn += [
                f'<circle class="dot dot{number}" cx="{x:.1f}" cy="{y:.1f}" r="4"></circle>'
                for x, y in places
            ]
        told.append(f"{line.about}: from {line.values[0]:.3g} at {shape.points[0]} to {line.values[-1]:.3g} "
                    f"at {shape.points[-1]}")  # fmt: skip
    first, last = (_cut(shape.points[0]), _cut(shape.points[-1]))
    picture = _frame("; ".join(told), "".join(drawn), f"{low:.3g}", f"{high:.3g}", first, last)
    keys = ", ".join(f'<span class="key{n}">{shown(line.about)}</span>' for n, line in enumerate(shape.lines))
    listed = [("missing", tuple(line.missing for line in shape.lines))]
    if not shape.ordered:
        columns = zip(*(line.values for line in shape.lines), strict=True)
        listed = [*zip(shape.points, columns, strict=True), *listed]
    added = "; ".join(f"{shown(point)}: {', '.join(f'{v:.3g}' for v in values)}" for point, values in listed)
    return (
        f"<figure>{picture}<figcaption><strong>{shown(shape.name)}</strong>, {keys}"
        f'<span class="soft every">{added}</span></figcaption></figure>'
    )


def draw_leaves(leaves: Leaves) -> str:
    """Draw how many rows the leaves of a tree hold, largest first, and the noise, by powers of ten."""
    most = math.log10(1 + max(*leaves.counts, leaves.noise_sd, 1.0)) if leaves.counts else 1.0
    floor = HEIGHT - BOTTOM

    def height(count: float) -> float:
        return math.log10(1 + count) / most * (floor - TOP)

    n_bars = min(leaves.n_leaves, MOST_BARS)  # of more leaves, those at even distances in their order
    shown_counts = [leaves.counts[at * leaves.n_leaves // n_bars] for at in range(n_bars)]
    edges = [LEFT + at / n_bars * (WIDTH - LEFT) for at in range(n_bars + 1)]
    bars = "".join(
        f"M{left:.1f} {floor}V{floor - height(count):.1f}H{right:.1f}V{floor}"
        for (left, right), count in zip(pairwise(edges), shown_counts, strict=True)
    )
    noise = floor - height(leaves.noise_sd)
    inside = (
        f'<path class="bar" d="{bars}"></path><path class="noise" d="M{LEFT} {noise:.1f}H{WIDTH}"></path>'
    )
    words = (
        f"{leaves.n_leaves} leaves of tree {leaves.tree}, {leaves.below_noise} of them below the noise of "
        f"{leaves.noise_sd:.3g}"
    )
    picture = _frame(words, inside, "0", f"{max(leaves.counts, default=0):,.0f}", "largest leaf", "smallest")
    return f"<figure>{picture}<figcaption>tree {leaves.tree}</figcaption></figure>"


def _cut(text: str) -> str:
    return text if len(text) <= 14 else text[:13] + "…"
