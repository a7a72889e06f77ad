"""Draw how often the best guess about a person's presence is right, against epsilon.

    python -m tools.promise_picture

Writes docs/images/best-guess.svg.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from dpforest.report import best_guess

PICTURE = Path(__file__).resolve().parents[1] / "docs" / "images" / "best-guess.svg"


def draw(path: Path = PICTURE) -> None:
    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams.update({"svg.hashsalt": "dpforest", "svg.fonttype": "none", "font.family": "sans-serif"})
    from matplotlib import pyplot as plt

    epsilon = np.linspace(0, 6, 121)
    figure, panel = plt.subplots(figsize=(7, 3.4), layout="constrained")
    panel.plot(epsilon, [100 * best_guess(float(e), 0.0) for e in epsilon], color="#00796b", lw=2.2)
    for marked in (0.1, 0.5, 1, 2, 3, 5):
        right = 100 * best_guess(marked, 0.0)
        panel.plot(marked, right, "o", color="#00796b")
        panel.annotate(
            f"{right:.1f} %", (marked, right), xytext=(8, -5), textcoords="offset points", fontsize=9
        )
    panel.axhline(50, color="#555555", lw=1, ls="--")
    panel.annotate(
        "a blind guess", (6, 50), xytext=(0, 4), textcoords="offset points", ha="right", fontsize=9
    )
    panel.set(xlabel="epsilon", ylabel="best guess is right, %", ylim=(45, 102), xlim=(0, 6))
    panel.grid(alpha=0.3)
    figure.savefig(path, metadata={"Date": None}, facecolor="white")


if __name__ == "__main__":
    draw()
