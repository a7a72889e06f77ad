"""How many runs the auditors need to find a broken promise, and how often they cry wolf.

    make bench TARGET=audit_power              # about three minutes
    python -m benchmarks.audit_power --audits 1000

Power: a count with discrete Laplace noise that is a factor too small, claimed epsilon 1, alpha = 1e-6. False
alarms: correct mechanisms that use up their whole promise, at alpha = 0.05, where alarms can be counted.
"""

from __future__ import annotations

import argparse
import math
import time
from fractions import Fraction

import numpy as np
from rich.console import Console
from rich.table import Table
from scipy.stats import binom

from dpforest.audit import audit_samples
from dpforest.audit.one_run import p_value_of
from dpforest.mechanisms import RandomWords, Rate, discrete_laplace

FACTORS = (3.0, 2.0, 1.5, 1.2, 1.1)
REPEATS = 20


def noisy_counts(true: int, factor: float, n: int, seed: int) -> np.ndarray:
    """Outputs of a count whose noise is `factor` times too small for epsilon 1, by our own sampler."""
    return discrete_laplace(np.full(n, true), Rate.floor(Fraction(str(factor))), RandomWords.seeded(seed))


def share_found(factor: float, runs: int, repeats: int, alpha: float, first_seed: int) -> float:
    """Part of audits that find the violation; `runs` are the runs of both tables together."""
    alarms = 0
    for repeat in range(repeats):
        seed = first_seed + 2 * repeat
        tables = (noisy_counts(true, factor, runs // 2, seed + true) for true in (0, 1))
        alarms += audit_samples(*tables, claim=1.0, confidence=1 - alpha).violation
    return alarms / repeats


def runs_needed(factor: float, repeats: int = REPEATS) -> int:
    """Fewest runs, on a grid of ten per decade, with which nine of ten audits find the violation."""
    for step in range(20, 61):
        runs = round(10 ** (step / 10))
        if share_found(factor, runs, repeats, 1e-6, first_seed=10_000 * step) >= 0.9:
            return runs
    raise RuntimeError("more than a million runs")


def one_run_needed(factor: float, guessed: float = 1.0) -> int:
    """Canaries with which nine of ten one-run audits find the violation, each canary alone in its leaf."""
    rng = np.random.default_rng(0)
    chance = 1 / (1 + math.exp(-factor))
    for step in range(20, 61):
        canaries = round(10 ** (step / 10))
        right = rng.binomial(round(guessed * canaries), chance, 200)
        found = [p_value_of(int(v), round(guessed * canaries), canaries, 1.0) <= 1e-6 for v in right]
        if np.mean(found) >= 0.9:
            return canaries
    raise RuntimeError("more than a million canaries")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--audits", type=int, default=1000, help="audits of correct mechanisms")
    options = parser.parse_args()
    console, start = Console(width=120), time.perf_counter()
    power = Table(title="runs with which 9 of 10 audits find a violation (claimed epsilon 1, alpha 1e-6)")
    for column in ("true epsilon", "runs in all (statistical)", "canaries (one run)"):
        power.add_column(column, justify="right")
    for factor in FACTORS:
        power.add_row(f"{factor:g}", f"{runs_needed(factor):,}", f"{one_run_needed(factor):,}")
    console.print(power)

    alarms = Table(title=f"false alarms in {options.audits:,} audits of a correct count at alpha = 0.05")
    for column in (
        "runs in all",
        "alarms",
        "rate",
        "stated",
        "chance of so many if the stated rate were true",
    ):
        alarms.add_column(column, justify="right")
    for runs in (1000, 4000, 20_000):
        rate = share_found(1.0, runs, options.audits, 0.05, first_seed=10**6 * runs)
        count = round(rate * options.audits)
        chance = binom.cdf(count, options.audits, 0.05)
        alarms.add_row(f"{runs:,}", f"{count}", f"{rate:.4f}", "0.05", f"{chance:.2g}")
    console.print(alarms)
    console.print(f"{time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()
