"""How well the default regressor predicts where public bounds of the target are wider than they need be.

    python -m tools.wide_bounds --out docs/results/default-wide-bounds.csv

Owners often know bounds of a target only roughly. Each table is generated; its bounds are stretched by a
factor, from their lower end. R2 times 100 on 5,000 fresh rows, mean and standard error over repeats.
"""

from __future__ import annotations

import argparse
import csv
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpforest import PrivateForestRegressor

FACTORS = 1, 10, 100
EPSILONS = 0.1, 0.5, 1.0, 2.0, 10.0
ROWS = 2_000, 10_000
N_FEATURES, N_TEST = 8, 5_000

Floats = NDArray[np.float64]


class Target(NamedTuple):
    """A made-up target: its values, and bounds that just hold it."""

    values: Floats
    low: float
    high: float


def sums(X: Floats, rng: np.random.Generator) -> Target:
    return Target(X[:, 0] + X[:, 1] + 0.5 * rng.normal(size=len(X)), -5, 5)


def amounts(X: Floats, rng: np.random.Generator) -> Target:
    """Skewed, as incomes are."""
    return Target(np.exp(0.6 * X[:, 0] + 0.4 * X[:, 1] + 0.4 * rng.normal(size=len(X))), 0, 15)


def counts(X: Floats, rng: np.random.Generator) -> Target:
    return Target(rng.poisson(np.exp(0.5 * X[:, 0] + 0.3 * X[:, 1] - 0.5)).astype(float), 0, 10)


def two_groups(X: Floats, rng: np.random.Generator) -> Target:
    return Target(np.where(X[:, 0] > 0, 5, -5) + X[:, 1] + rng.normal(size=len(X)), -10, 10)


def mostly_nothing(X: Floats, rng: np.random.Generator) -> Target:
    some = X[:, 0] + 0.5 * rng.normal(size=len(X)) > 0.5
    return Target(np.where(some, 3 + X[:, 1] + 0.5 * rng.normal(size=len(X)), 0), 0, 7)


TARGETS = sums, amounts, counts, two_groups, mostly_nothing


def r2(make, rows: int, factor: int, epsilon: float, seed: int) -> float:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows + N_TEST, N_FEATURES))
    target = make(X, rng)
    high = target.low + factor * (target.high - target.low)
    y = np.clip(target.values, target.low, high)
    model = PrivateForestRegressor(epsilon=epsilon, bounds=(-5, 5), target_bounds=(target.low, high))
    model.fit(X[:rows], y[:rows])
    return 100 * float(model.score(X[rows:], y[rows:]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=10)
    parser.add_argument("--out", type=Path, default=None, help="CSV; the screen without it")
    options = parser.parse_args()
    with options.out.open("w", newline="") if options.out else sys.stdout as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["target", "rows", "factor", "epsilon", "repeats", "r2", "standard_error", "worst"])
        for make in TARGETS:
            for rows in ROWS:
                for factor in FACTORS:
                    for epsilon in EPSILONS:
                        found = [r2(make, rows, factor, epsilon, seed) for seed in range(options.repeats)]
                        error = np.std(found, ddof=1) / len(found) ** 0.5
                        kept = [f"{value:.2f}" for value in (np.mean(found), error, min(found))]
                        writer.writerow([make.__name__, rows, factor, epsilon, len(found), *kept])
                        file.flush()


if __name__ == "__main__":
    main()
