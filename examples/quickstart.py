"""Train a private forest on a generated hospital table and say what it cost.

Run by ``make quickstart``. The table has numbers, categories and missing values, as real ones do.
"""

from __future__ import annotations

import time

import numpy as np
import pandas as pd
from rich.console import Console

from dpforest import PrivateForestClassifier
from dpforest.schema import Classes, Nominal, Numeric, Schema


def hospital(n_rows: int, seed: int) -> tuple[pd.DataFrame, np.ndarray]:
    """Make up patients whose outcome depends on age, blood values and ward."""
    rng = np.random.default_rng(seed)
    age = rng.uniform(18, 100, n_rows).round()
    crp = rng.exponential(60, n_rows).round(1)
    oxygen = np.clip(rng.normal(95, 4, n_rows), 60, 100).round(1)
    ward = rng.choice(["surgery", "medicine", "intensive"], n_rows, p=[0.4, 0.45, 0.15])
    risk = (age - 60) / 12 + (crp - 60) / 50 + (95 - oxygen) / 3 + 2.0 * (ward == "intensive") - 2.0
    outcome = np.where(rng.logistic(size=n_rows) < risk, "died", "home")
    crp[rng.random(n_rows) < 0.1] = np.nan  # not measured
    ward = np.where(rng.random(n_rows) < 0.02, None, ward)
    return pd.DataFrame({"age": age, "crp": crp, "oxygen": oxygen, "ward": ward}), outcome


def main() -> None:
    """Declare, fit, predict, and show the promise."""
    console = Console(width=120, highlight=False)
    X, y = hospital(40_000, seed=1)
    X_new, y_new = hospital(10_000, seed=2)
    schema = Schema(
        {
            "age": Numeric(18, 100, integer=True),
            "crp": Numeric(0, 500),
            "oxygen": Numeric(60, 100),
            "ward": Nominal(["surgery", "medicine", "intensive"]),
        },
        target=Classes(["home", "died"]),
    )
    model = PrivateForestClassifier(epsilon=1.0, schema=schema)
    console.rule("What fit will spend, before any row is read")
    console.print(str(model.privacy_plan()))

    started = time.perf_counter()
    model.fit(X.head(100), y[:100])
    compiled = time.perf_counter()
    model.fit(X, y)
    fitted = time.perf_counter()
    accuracy = model.score(X_new, y_new)
    scored = time.perf_counter()

    console.rule("The released model")
    majority = max(np.mean(y_new == label) for label in model.classes_)
    console.print(
        f"accuracy on new patients {accuracy:.3f} (always guessing the common outcome: {majority:.3f})"
    )
    console.print(f"guarantee: {model.guarantee_}")
    console.print(f"looks at private rows: {len(model.ledger_)} (see model.ledger_)")
    console.print(
        f"time: compiling {compiled - started:.1f} s (first use only), "
        f"fitting 40,000 rows {fitted - compiled:.3f} s, predicting 10,000 rows {scored - fitted:.3f} s"
    )


if __name__ == "__main__":
    main()
