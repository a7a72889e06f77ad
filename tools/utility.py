"""The default forests with delta against their pure form and peers: accuracy, R2 and log loss, fresh splits.

    make bench TARGET=utility      # both forms; two hours on one core
    python -m tools.utility METHOD OUT.csv [--repeats 10] [--tables magic,adult] [--epsilons 0.5,1,2]

METHOD is `boosted` (delta = n ** -1.1), `pure` (delta = 0), `dp_ebm` (package `interpret`), `diffprivlib`
(its random forest, pure, classes only) or `aim`: synthetic rows by AIM (package `dpmm`), from which LightGBM
learns; all with the settings that they come with. Peers can be run in other environments: this file imports
nothing else of ours there. `present` is for other versions of this library. Rivals of the pure form are
`spe`, `diprime_exp`, `diprime_flip`, `friedman_schuster`, and itself `"without the tree"` or another part:
see `tools.ablations`.
Tables come from the folder DPFOREST_DATA or are drawn; `adult:age` is the table with another target, as in
STUDY, and `magic*5` has bounds of its numbers that are five times as wide. Each fit is one line of the file,
with the splits the same for all methods; lines that are there already are not run again. A fit that takes
longer than `--most` seconds of CPU time is given up, and so are those of the table that would follow: its
line has no score.
"""

from __future__ import annotations

import argparse
import csv
import json
import math
import os
import signal
import time
import warnings
from pathlib import Path

import numpy as np

EPSILONS = (0.1, 0.5, 1.0, 2.0, 10.0)
MOST_ROWS = 30_000
TRAINING = 0.7
DRAWN = ("twonorm", "ringnorm", "friedman1", "linear", "steps", "mix7_18_3000", "mix11_40_5500")
TABLES = (
    "adult", "bank", "banknote", "blood_transfusion", "car", "claves", "covertype_426k", "credit_default",
    "dry_bean", "higgs_26k", "letter", "magic", "mammographic_mass", "mushroom", "nursery", "occupancy",
    "pendigits", "puc_rio", "student", "wall_robot_2", "wall_robot_24", "wall_robot_4",
    "appliances_energy", "flights_nyc13", "flights_us2001", "gas_turbine", "metro_traffic", "parkinsons",
    "parkinsons_motor",
)  # fmt: skip
STUDY = (  # numbers of a study of prototypes that can be had again
    "adult:age", "adult:hours_per_week", "appliances_energy", "bank:duration", "covertype_426k:Elevation",
    "credit_default:LIMIT_BAL", "diabetes", "flights_nyc13", "flights_us2001", "friedman1_20000",
    "friedman1_4000", "friedman2_10000", "gas_turbine", "metro_traffic", "parkinsons", "parkinsons_motor",
    "student:G2",
)  # fmt: skip
RIVALS = ("spe", "diprime_exp", "diprime_flip", "friedman_schuster")
AIM_BINS = 0.1  # of epsilon, for the bins of numbers
FIELDS = ("table", "task", "method", "epsilon", "repeat", "score", "log_loss", "seconds")


def drawn(name):
    """Rows of a known law, with bounds that hold nearly all of them."""
    rng = np.random.default_rng(1000)
    if name == "twonorm":
        y = rng.integers(0, 2, 7400)
        X, bound = rng.normal(size=(7400, 20)) + np.where(y[:, None], 1, -1) * 2 / math.sqrt(20), (-6, 6)
    elif name == "ringnorm":
        y = rng.integers(0, 2, 7400)
        X = rng.normal(size=(7400, 20))
        X, bound = np.where(y[:, None] == 0, 2 * X, X + 1 / math.sqrt(20)), (-8, 8)
    elif name == "friedman1":
        X, bound = rng.random((10_000, 10)), (0, 1)
        y = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2 + 10 * X[:, 3] + 5 * X[:, 4]
        y = y + rng.normal(size=10_000)
    elif name == "linear":
        X, bound = rng.normal(size=(8000, 20)), (-5, 5)
        y = X @ rng.normal(size=20)
        y = y + 0.65 * y.std() * rng.normal(size=8000)
    elif name == "steps":
        X, bound = rng.random((10_000, 8)), (0, 1)
        y = 2.0 * (X[:, 0] > 0.5) + 3 * (X[:, 1] > 0.3) * (X[:, 2] > 0.6) + 1.5 * (X[:, 3] < 0.2)
        y = y + 0.5 * rng.normal(size=10_000)
    else:
        from sklearn.datasets import make_classification

        n_classes, d, n = map(int, name[3:].split("_"))
        X, y = make_classification(
            n, d, n_informative=max(d // 2, n_classes // 2 + 2), n_redundant=d // 4, n_classes=n_classes,
            n_clusters_per_class=1, class_sep=1.5, random_state=0,
        )  # fmt: skip
        bound = (-10, 10)
    columns = {f"x{i}": {"type": "numeric", "min": bound[0], "max": bound[1]} for i in range(X.shape[1])}
    target = {"friedman1": (-5, 35), "linear": (-25, 25), "steps": (-3, 10)}.get(name)
    if target is None:
        columns["target"] = {"type": "class", "categories": list(range(int(y.max()) + 1))}
    else:
        columns["target"] = {"type": "numeric", "min": target[0], "max": target[1]}
    return X, y, columns


def from_sklearn(name):
    """`diabetes`, or a law of Friedman (1991) and a number of rows, with bounds that hold nearly all."""
    from sklearn import datasets

    if name == "diabetes":
        X, y = datasets.load_diabetes(return_X_y=True)
        ends, target = [(-0.2, 0.2)] * 10, (0, 400)
    else:
        law, n = name.split("_")
        noise, target = {"friedman1": (1.0, (-5, 35)), "friedman2": (125.0, (-500, 2500))}[law]
        X, y = getattr(datasets, f"make_{law}")(int(n), noise=noise, random_state=1000)
        ends = [(0, 1)] * 10 if law == "friedman1" else [(0, 100), (120, 1800), (0, 1), (1, 11)]
    columns = {f"x{i}": {"type": "numeric", "min": low, "max": high} for i, (low, high) in enumerate(ends)}
    return X, y, {**columns, "target": {"type": "numeric", "min": target[0], "max": target[1]}}


def widened(schema, factor):
    """Bounds of features so many times as wide: a fifth of what is added lies below, the rest above."""
    found = {}
    for name, law in schema.items():
        if name != "target" and law["type"] == "numeric":
            added = (factor - 1) * (law["max"] - law["min"])
            law = {**law, "min": law["min"] - 0.2 * added, "max": law["max"] + 0.8 * added}
        found[name] = law
    return found


def loaded(name):
    """Numbers, categories as their numbers; a schema in its dictionary form, the target last."""
    name, _, factor = name.partition("*")
    if factor:
        X, y, schema = loaded(name)
        return X, y, widened(schema, float(factor))
    if name in DRAWN:
        return drawn(name)
    if name == "diabetes" or name.startswith("friedman"):
        return from_sklearn(name)
    import pandas as pd

    folder, (table, _, other) = Path(os.environ["DPFOREST_DATA"]), name.partition(":")
    frame = pd.read_parquet(folder / f"{table}.parquet")
    columns = json.loads((folder / "schema.json").read_text())[table]
    if other:
        names = {"target": "class", other: "target"}
        frame = frame.rename(columns=names)
        columns = {names.get(column, column): law for column, law in columns.items()}
        columns["class"] = {**columns["class"], "type": "categorical"}
        columns["target"] = {**columns["target"], "type": "numeric"}
    found, schema = [], {}
    for column, law in columns.items():
        if law["type"] in ("categorical", "class"):
            place = {str(category): number for number, category in enumerate(law["categories"])}
            values = np.array([place.get(str(value), np.nan) for value in frame[column]])
            schema[column] = {**law, "categories": list(range(len(place)))}
        else:
            values = pd.to_numeric(frame[column], errors="coerce").to_numpy(float)
            schema[column] = law
        if column != "target":
            found.append(values)
        else:
            target = values
    schema["target"] = schema.pop("target")
    return np.stack(found, axis=1), target, schema


def fitted(method, X, y, schema, epsilon, delta, seed):
    """Return a model that predicts numbers or class probabilities."""
    target = schema["target"]
    is_class = target["type"] == "class"
    laws = [law for name, law in schema.items() if name != "target"]
    bounds = [
        (0, max(len(law["categories"]) - 1, 1)) if "categories" in law else (law["min"], law["max"])
        for law in laws
    ]
    if method == "diffprivlib":
        from diffprivlib.models import RandomForestClassifier

        ends = tuple(np.array(bounds, float).T)
        forest = RandomForestClassifier(
            epsilon=epsilon, bounds=ends, classes=target["categories"], random_state=seed
        )
        return forest.fit(np.clip(X, *ends), y.astype(int))
    if method == "dp_ebm":
        from interpret.privacy import DPExplainableBoostingClassifier, DPExplainableBoostingRegressor

        nominal = [law["type"] == "categorical" for law in laws]
        given = {
            "epsilon": epsilon, "delta": delta, "random_state": seed, "n_jobs": 1,
            "privacy_bounds": np.array(bounds, float),
            "feature_types": ["nominal" if flag else "continuous" for flag in nominal],
        }  # fmt: skip
        if is_class:
            return DPExplainableBoostingClassifier(**given).fit(X, y.astype(int))
        given |= {"privacy_target_min": target["min"], "privacy_target_max": target["max"]}
        return DPExplainableBoostingRegressor(**given).fit(X, np.clip(y, target["min"], target["max"]))
    if method == "aim":
        return from_synthetic_rows(X, y, schema, epsilon, delta, seed)
    import dpforest
    from dpforest.schema import Schema

    declared = {"epsilon": epsilon, "schema": Schema.from_dict(schema)}
    if method in RIVALS or method.startswith("with"):
        return rival(method, is_class, declared).fit(X, y)
    kind = dpforest.PrivateForestClassifier if is_class else dpforest.PrivateForestRegressor
    return kind(delta=0.0 if method == "pure" else delta, **declared).fit(X, y)


def rival(method, is_class, declared):
    """Return another private forest, or the pure form with other constants."""
    import dpforest
    from dpforest.papers.baselines import FriedmanSchusterTreeClassifier
    from tools import ablations

    if method == "friedman_schuster":
        return FriedmanSchusterTreeClassifier(**declared)
    if method == "spe":
        spe = dpforest.PartitioningEnsembleClassifier, dpforest.PartitioningEnsembleRegressor
        return spe[not is_class](**declared)
    if method.startswith("diprime"):
        variant = "exponential" if method == "diprime_exp" else "permute_and_flip"
        diprime = dpforest.DiPriMeForestClassifier, dpforest.DiPriMeForestRegressor
        return diprime[not is_class](variant=variant, **declared)
    kinds = dpforest.PrivateForestClassifier, dpforest.PrivateForestRegressor
    model = kinds[not is_class](**declared)
    model._config = (ablations.CLASSES if is_class else ablations.NUMBERS)[method]
    return model


def from_synthetic_rows(X, y, schema, epsilon, delta, seed):
    """LightGBM on as many synthetic rows; bins of numbers cost 0.1 of epsilon, which is the default."""
    import pandas as pd
    from dpmm.pipelines import AIMPipeline
    from lightgbm import LGBMClassifier, LGBMRegressor

    frame, domain = pd.DataFrame(X, columns=[name for name in schema if name != "target"]), {}
    is_class = schema["target"]["type"] == "class"
    frame["target"] = y
    for name, law in schema.items():
        if "categories" in law:
            frame[name] = frame[name].astype(int).astype("category")
            domain[name] = {"categories": law["categories"]}
        else:
            frame[name] = frame[name].clip(law["min"], law["max"]).astype(float)
            domain[name] = {"lower": law["min"], "upper": law["max"]}
    maker = AIMPipeline(
        epsilon=epsilon - AIM_BINS, delta=delta, proc_epsilon=AIM_BINS, max_model_size=80, n_jobs=1
    )
    maker.fit(frame, domain, random_state=seed)
    made = maker.generate(len(frame), random_state=seed)[list(frame)].astype(float)
    rows, target = made.drop(columns="target").to_numpy(), made["target"].to_numpy()
    learner = (LGBMClassifier if is_class else LGBMRegressor)(verbose=-1, n_jobs=1, random_state=seed)
    return learner.fit(rows, target.astype(int) if is_class else target)


def measured(model, X, y, is_class):
    """Accuracy, or R2, in percent; log loss of classes."""
    if not is_class:
        return 100 * (1 - np.mean((model.predict(X) - y) ** 2) / np.var(y)), math.nan
    chances = model.predict_proba(X)
    place = np.minimum(np.searchsorted(model.classes_, y), len(model.classes_) - 1)
    own = np.where(model.classes_[place] == y, chances[np.arange(len(y)), place], 0.0)  # 0: class not learnt
    accuracy = 100 * np.mean(model.classes_[chances.argmax(axis=1)] == y)
    return accuracy, -np.mean(np.log(np.clip(own, 1e-12, 1)))


def has_form(method, is_class):
    """Tell whether a method is there for classes, or for numbers."""
    if method.startswith("with"):
        from tools import ablations

        return method in (ablations.CLASSES if is_class else ablations.NUMBERS)
    return is_class or method not in ("diffprivlib", "friedman_schuster")


class TooSlowError(Exception):
    """A fit was given up."""


def give_up(*_):
    """End a fit."""
    raise TooSlowError


def run(method, out, tables, repeats, epsilons, most):
    """Run whatever is not in the file yet."""
    signal.signal(signal.SIGPROF, give_up)
    done = set()
    if out.exists():
        with out.open() as file:
            done = {
                (r["table"], r["method"], float(r["epsilon"]), int(r["repeat"])) for r in csv.DictReader(file)
            }
    with out.open("a", newline="") as file:
        writer = csv.DictWriter(file, FIELDS)
        if not file.tell():
            writer.writeheader()
        for name in tables:
            X, y, schema = loaded(name)
            is_class = schema["target"]["type"] == "class"
            if method == "dp_ebm" and is_class and len(schema["target"]["categories"]) > 2:
                continue  # it has two classes at most
            if not has_form(method, is_class):
                continue
            if method in ("dp_ebm", "diffprivlib") and np.isnan(X).any():
                continue  # they take no missing values
            if method == "aim":  # nor does AIM
                X, y = X[~np.isnan(X).any(axis=1)], y[~np.isnan(X).any(axis=1)]
            too_slow = False
            for repeat in range(repeats):
                order = np.random.default_rng(500 + repeat).permutation(len(X))[:MOST_ROWS]
                train, test = np.split(order, [int(TRAINING * len(order))])
                for epsilon in epsilons:
                    if too_slow or (name, method, epsilon, repeat) in done:
                        continue
                    start, score, loss = time.process_time(), math.nan, math.nan
                    signal.setitimer(signal.ITIMER_PROF, most)
                    try:
                        model = fitted(
                            method, X[train], y[train], schema, epsilon, len(train) ** -1.1, repeat
                        )
                        signal.setitimer(signal.ITIMER_PROF, 0)
                    except TooSlowError:
                        too_slow = True
                    seconds = time.process_time() - start
                    if not too_slow:
                        score, loss = measured(model, X[test], y[test], is_class)
                    task = "accuracy" if is_class else "R2"
                    values = (
                        name,
                        task,
                        method,
                        epsilon,
                        repeat,
                        f"{score:.3f}",
                        f"{loss:.4f}",
                        f"{seconds:.2f}",
                    )
                    writer.writerow(dict(zip(FIELDS, values, strict=True)))
                    file.flush()


def main():
    """Read the arguments."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("method", nargs="?", help="see above; by default both forms of ours")
    parser.add_argument("out", type=Path, nargs="?", help="by default bench-results/utility-METHOD.csv")
    parser.add_argument("--tables", default=",".join((*TABLES, *DRAWN)))
    parser.add_argument("--repeats", type=int, default=10)
    parser.add_argument("--epsilons", default=",".join(map(str, EPSILONS)))
    parser.add_argument("--most", type=int, default=0, help="seconds of CPU time of a fit; 0 for no end")
    given = parser.parse_args()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        budgets = [float(epsilon) for epsilon in given.epsilons.split(",")]
        for method in (given.method,) if given.method else ("boosted", "pure"):
            out = given.out or Path("bench-results") / f"utility-{method}.csv"
            out.parent.mkdir(exist_ok=True)
            run(method, out, given.tables.split(","), given.repeats, budgets, given.most)


if __name__ == "__main__":
    main()
