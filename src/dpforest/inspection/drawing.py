"""What the pictures have in common: colours that the colour-blind can tell apart, plain axes, text."""

from __future__ import annotations

from typing import Any

# of Okabe and Ito's colours
BLUE, ORANGE, GREEN, PURPLE, GREY = "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#999999"
_LONGEST = 40


def new_axes(ax: Any, width: float = 6.4, height: float = 4.0) -> Any:
    """Return the given axes, or those of a new figure."""
    if ax is not None:
        return ax
    import matplotlib.pyplot as plt

    return plt.subplots(figsize=(width, height), layout="constrained")[1]


def plain(ax: Any) -> None:
    """Take the box away."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.tick_params(labelsize=9)


def printable(text: str, longest: int = _LONGEST) -> str:
    r"""Return a text as a label: short, on one line, and never read as a formula.

    Examples
    --------
    >>> print(printable("a$b$\n") + ".")
    a\$b\$ .
    """
    line = "".join(c if c.isprintable() else " " for c in text)
    short = line if len(line) <= longest else line[: longest - 1] + "…"
    return short.replace("$", "\\$")
