"""Models of every kind that exports must carry, on a table of every kind of column."""

import datetime as dt

import numpy as np
import pandas as pd

from dpforest import (
    DiPriMeForestClassifier,
    DiPriMeForestRegressor,
    PrivateForestClassifier,
    PrivateForestRegressor,
    RandomDecisionForestClassifier,
    RandomDecisionTreesClassifier,
)
from dpforest.schema import Boolean, Classes, Date, Nominal, Numeric, Ordinal, Range, Schema

N = 3000
FEATURES = {
    "age": Numeric(18, 100, integer=True),
    "income": Numeric(0, 1e6, transform="asinh"),
    "crp": Numeric(0, 500),
    "ward": Nominal(["A", 'it\'s "B"', "C\\n'''", "7"]),
    "code": Nominal([1, 2, 30]),
    "pain": Ordinal(["none", "some", "much"]),
    "since": Date("2015-01-01", "2025-12-31"),
    "smoker": Boolean(),
}


def table(n, seed=0):
    rng = np.random.default_rng(seed)
    days = rng.integers(0, 4000, n)
    X = pd.DataFrame(
        {
            "age": rng.integers(18, 101, n).astype(float),
            "income": rng.lognormal(9, 2, n),
            "crp": rng.exponential(60, n),
            "ward": rng.choice(["A", 'it\'s "B"', "C\\n'''", "7", "elsewhere"], n),
            "code": rng.choice([1, 2, 30, 4], n),
            "pain": rng.choice(["none", "some", "much"], n),
            "since": [(dt.date(2015, 1, 1) + dt.timedelta(int(day))).isoformat() for day in days],
            "smoker": rng.choice(["yes", "no", "1", "False"], n),
        }
    ).astype(object)
    score = X["age"].astype(float) / 40 + X["crp"].astype(float) / 100 + 2 * (X["ward"] == "A")
    gaps = rng.random(X.shape) < 0.05
    return X.mask(gaps, None), score.to_numpy(float)


X, SCORE = table(N)
BINARY, TEN = (SCORE > 2.5).astype(int), np.digitize(SCORE, np.quantile(SCORE, np.linspace(0.1, 0.9, 9)))
NUMBERS = Schema({name: FEATURES[name] for name in ("age", "income", "crp")}, Classes([0, 1]))
TWO, MANY, RANGE = (Schema(FEATURES, t) for t in (Classes([0, 1]), Classes(range(10)), Range(0, 8)))
CASES = {
    "pure, two classes": (PrivateForestClassifier(schema=TWO, epsilon=4), BINARY),
    "pure, ten classes": (PrivateForestClassifier(schema=MANY, epsilon=20), TEN),
    "pure, words": (
        PrivateForestClassifier(schema=Schema(FEATURES, Classes(["a", "b"]))),
        np.array(list("ab"))[BINARY],
    ),
    "boosted, two classes": (PrivateForestClassifier(schema=TWO, epsilon=4, delta=1e-6), BINARY),
    "boosted, ten classes": (PrivateForestClassifier(schema=MANY, epsilon=20, delta=1e-6), TEN),
    "decided by weights": (PrivateForestClassifier(schema=TWO, class_weight={1: 0.2}), BINARY),
    "decided by a threshold": (DiPriMeForestClassifier(3, schema=TWO, max_depth=4, threshold=0.2), BINARY),
    "noise": (DiPriMeForestClassifier(1, schema=TWO, epsilon=0.01, max_depth=5), BINARY),
    "pure, numbers": (PrivateForestRegressor(schema=RANGE, epsilon=4), SCORE),
    "boosted, numbers": (PrivateForestRegressor(schema=RANGE, epsilon=4, delta=1e-6), SCORE),
    "combinations": (PrivateForestClassifier(schema=NUMBERS, epsilon=50), BINARY),
    "means": (DiPriMeForestRegressor(3, schema=RANGE, max_depth=3), SCORE),
    "votes": (RandomDecisionTreesClassifier(5, schema=TWO, max_depth=4), BINARY),
    "labels": (RandomDecisionForestClassifier(5, schema=TWO, max_depth=4), BINARY),
}
