"""Rows from OpenML, through scikit-learn, which keeps them in its cache.

Every dataset has a fixed number there. Columns come in the order of the UCI files under other names, and
labels often as 1, 2, ...; `columns` gives them the schema's names and types and refuses whatever does not fit
the catalogue, so a number that means something else one day cannot pass unseen. `loading` calls `read`.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

__all__ = ["ON_OPENML", "Table", "read"]


@dataclass(frozen=True)
class Table:
    """A dataset on OpenML.

    Parameters
    ----------
    data_id : int
        Its number.
    labels : mapping of str to str, optional
        The label that each class of OpenML stands for; by default the same text.
    drop : tuple of str, default=("id",)
        Columns that are no features, in small letters.
    """

    data_id: int
    labels: Mapping[str, str] = field(default_factory=dict)
    drop: tuple[str, ...] = ("id",)


_TURNS = {"1": "Move-Forward", "2": "Slight-Right-Turn", "3": "Sharp-Right-Turn", "4": "Slight-Left-Turn"}
_FROM_ONE = {"1": "0", "2": "1"}

ON_OPENML: Mapping[str, Table] = {
    "banknote": Table(1462, _FROM_ONE),
    "credit_default": Table(42477),
    "wall_robot_24": Table(1497, _TURNS),
    "wall_robot_2": Table(1525, _TURNS),
    "wall_robot_4": Table(1526, _TURNS),
    "adult_all": Table(1590),
    "bank": Table(1461, {"1": "no", "2": "yes"}),
    "bank_small": Table(1558, {"1": "no", "2": "yes"}),
    "blood_transfusion": Table(1464, _FROM_ONE),
    "car": Table(21),
    "magic": Table(1120),
    "letter": Table(6),
    "pendigits": Table(32),
    "mushroom": Table(24),
    "nursery": Table(26),
    "congressional_voting": Table(56),
    "covertype": Table(1596),
    "higgs_98k": Table(23512),
}
"""Where each dataset is on OpenML."""


def read(table: Table) -> tuple[Any, Any]:
    """Fetch features and target, from the cache if they are there.

    Parameters
    ----------
    table : Table
        What to fetch.

    Returns
    -------
    features : pandas.DataFrame
    target : pandas.Series
    """
    fetch = import_module("sklearn.datasets").fetch_openml
    with warnings.catch_warnings():
        # Without a network the error says all there is to say.
        warnings.filterwarnings("ignore", message="A network error occurred")
        bunch = fetch(data_id=table.data_id, as_frame=True, parser="auto", n_retries=1)
    unwanted = [name for name in bunch.data.columns if str(name).lower() in table.drop]
    target = bunch.target.astype(object)
    if table.labels:
        target = target.map(lambda value: table.labels.get(str(value).strip()))
    return bunch.data.drop(columns=unwanted), target
