"""How many runs the auditors need to find a broken promise, and how often they cry wolf.

    make bench TARGET=audit_power              # about half an hour
    python -m tools.audit_power --audits 100 --only alarms

Power: a count with discrete Laplace noise that is a factor too small, claimed epsilon 1, alpha = 1e-6. The
quick form (`dpforest audit run --quick`): what loses three times as much as it claims, with all the pairs of
tables that are tried. False alarms: correct mechanisms that use up their whole promise, at alpha = 0.05,
where alarms can be counted, and at alpha = 1e-6, where there must be none.
"""

from __future__ import annotations

import argparse
import math
import time
import warnings
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table
from scipy.stats import binom

import dpforest
from dpforest.audit import audit, audit_samples
from dpforest.audit.one_run import p_value_of
from dpforest.cli.audit_run import GO_ON, QUICK_RUNS
from dpforest.mechanisms import RandomWords, Rate, discrete_laplace, permute_and_flip
from dpforest.schema import Classes, Numeric, Range, Schema

FACTORS = (3.0, 2.0, 1.5, 1.2, 1.1)
REPEATS = 20
CLASSIFY = Schema({"age": Numeric(0, 8, bins=4)}, Classes(["died", "home"]))
REGRESS = Schema({"age": Numeric(0, 8, bins=4)}, Range(0, 1))


def noisy_counts(true: int, factor: float, n: int, seed: int) -> np.ndarray:
    """Outputs of a count whose noise is `factor` times too small for epsilon 1, by our own sampler."""
    return discrete_laplace(np.full(n, true), Rate.floor(Fraction(str(factor))), RandomWords.seeded(seed))


def thrice(X: Any, y: Any, random_state: int) -> np.ndarray:
    """Release a count with a third of the noise that epsilon 1 needs."""
    return noisy_counts(len(X), 3.0, 1, random_state)


def label(X: Any, y: Any, random_state: int) -> int:
    """Release the most common label by permute-and-flip at three times the rate that epsilon 1 allows."""
    counts = [[int((np.asarray(y) == name).sum()) for name in CLASSIFY.classes.labels]]
    return int(permute_and_flip(counts, Rate.floor(Fraction(3)), RandomWords.seeded(random_state))[0])


def laplace(true: int, n: int, seed: int) -> np.ndarray:
    return true + np.random.default_rng(seed).laplace(size=n)


def randomized_response(true: int, n: int, seed: int) -> np.ndarray:
    flipped = np.random.default_rng(seed).random(n) < 1 / (1 + math.e)
    return np.where(flipped, 1 - true, true)


def share_found(factor: float, runs: int, repeats: int, first_seed: int) -> float:
    """Part of audits that find the violation; `runs` are the runs of both tables together."""
    alarms = 0
    for repeat in range(repeats):
        seed = first_seed + 2 * repeat
        tables = (noisy_counts(true, factor, runs // 2, seed + true) for true in (0, 1))
        alarms += audit_samples(*tables, claim=1.0).violation
    return alarms / repeats


def runs_needed(factor: float, repeats: int = REPEATS) -> int:
    """Fewest runs, on a grid of ten per decade, with which nine of ten audits find the violation."""
    for step in range(20, 61):
        runs = round(10 ** (step / 10))
        if share_found(factor, runs, repeats, first_seed=10_000 * step) >= 0.9:
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


def show_power(console: Console, _: int) -> None:
    power = Table(title="runs with which 9 of 10 audits find a violation (claimed epsilon 1, alpha 1e-6)")
    for column in ("true epsilon", "runs in all (statistical)", "canaries (one run)"):
        power.add_column(column, justify="right")
    for factor in FACTORS:
        power.add_row(f"{factor:g}", f"{runs_needed(factor):,}", f"{one_run_needed(factor):,}")
    console.print(power)


def flawed() -> dict[str, Any]:
    """Subjects that spend epsilon 3, to be audited for a claim of 1."""
    leaf = {"n_estimators": 1, "max_depth": 0, "epsilon": 3.0}
    split = {"max_depth": 1, "epsilon": 3.0, "schema": CLASSIFY}
    return {
        "a count": thrice,
        "a label": label,
        "class counts of a leaf": dpforest.RandomDecisionTreesClassifier(**leaf, schema=CLASSIFY),
        "sums of a leaf": dpforest.RandomDecisionTreesRegressor(**leaf, schema=REGRESS),
        "class counts of two trees": dpforest.RandomDecisionTreesClassifier(2, **split),
        "label of a leaf": dpforest.RandomDecisionForestClassifier(**leaf, schema=CLASSIFY),
        "median split and leaves": dpforest.DiPriMeForestClassifier(1, **split),
    }


def show_quick(console: Console, audits: int) -> None:
    console.print(f"the quick form on a threefold loss: {audits} audits each (claim 1, alpha 1e-6)")
    options = {"runs": QUICK_RUNS, "max_runs": GO_ON * QUICK_RUNS, "claim": 1.0, "progress": False}
    for name, subject in flawed().items():
        start = time.process_time()
        schema = CLASSIFY if subject in (thrice, label) else None
        results = [audit(subject, schema=schema, random_state=seed, **options) for seed in range(audits)]
        losses, runs = ([getattr(result, field) for result in results] for field in ("loss", "runs"))
        count, seconds = sum(result.violation for result in results), time.process_time() - start
        console.print(
            f"{name:<26} found {count} of {audits}, bound (median) {np.median(losses):.2f}, runs (mean) "
            f"{np.mean(runs):.0f}, {seconds / audits:.2f} s of CPU each"
        )


def show_alarms(console: Console, audits: int) -> None:
    console.print(f"false alarms in {audits:,} audits of mechanisms that spend exactly what they claim")
    exact: dict[str, Callable[[int, int, int], np.ndarray]] = {
        "discrete Laplace": lambda true, n, seed: noisy_counts(true, 1.0, n, seed),
        "Laplace": laplace,
        "randomized response": randomized_response,
    }
    for name, draw in exact.items():
        for runs in (500, 4000):
            counts = {0.05: 0, 1e-6: 0}
            for seed in range(0, 2 * audits, 2):
                tables = [draw(true, runs // 2, seed + true) for true in (0, 1)]
                for alpha in counts:
                    counts[alpha] += audit_samples(*tables, claim=1.0, confidence=1 - alpha).violation
            chance = binom.cdf(counts[0.05], audits, 0.05)
            console.print(
                f"{name:<20} {runs:,} runs: {counts[0.05]} at 5 % (so few by chance, if it were exact: "
                f"{chance:.2g}), {counts[1e-6]} at 1e-6"
            )


PARTS = {"power": show_power, "quick": show_quick, "alarms": show_alarms}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--audits", type=int, help="audits per line; default 100 (quick), 2000 (alarms)")
    parser.add_argument("--only", choices=PARTS, nargs="+", default=list(PARTS))
    options = parser.parse_args()
    warnings.simplefilter("ignore")  # seeds are meant here
    console, start = Console(width=140), time.perf_counter()
    for name in options.only:
        PARTS[name](console, options.audits or (2000 if name == "alarms" else 100))
    console.print(f"{time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()
