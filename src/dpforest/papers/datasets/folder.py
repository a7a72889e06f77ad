"""Rows in a folder: NAME.parquet with a column "target", and what is public about them in schema.json.

    schema.json   {"banknote": {"variance": {"type": "numeric", "min": -10, "max": 10}, ...}, ...}
    index.json    [{"name": "banknote", "licence": "...", "faithful": true, "note": "..."}, ...], optional

Each entry of schema.json is what `Schema.from_dict` reads, with the target under "target"; a dataset of the
catalogue may do without. `loading` asks the folder first, so that the owner of a machine decides what a name
means on it.
"""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

from dpforest.papers.datasets.catalogue import catalogue, domain
from dpforest.papers.datasets.columns import TARGET, pandas
from dpforest.papers.datasets.dataset import Dataset, DatasetInfo, DatasetNotFoundError
from dpforest.schema import Classes, Schema

__all__ = ["VARIABLE", "Folder", "open_folder"]

VARIABLE = "DPFOREST_DATA"


def open_folder(path: str | os.PathLike[str] | None) -> Folder | None:
    """Open the folder given, or that of the environment variable; None if there is neither."""
    place = path if path is not None else os.environ.get(VARIABLE)
    if not place:
        return None
    if not Path(place).is_dir():
        asked = "folder" if path is not None else VARIABLE
        raise DatasetNotFoundError(f"{asked}={str(place)!r} is not a folder.")
    return Folder(Path(place))


class Folder:
    """Datasets in one folder.

    Parameters
    ----------
    path : Path
        The folder.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.names = tuple(sorted(file.stem for file in path.glob("*.parquet")))
        self._schemas: dict[str, Any] = self._json("schema.json", {})
        self._index = {facts["name"]: facts for facts in self._json("index.json", [])}

    def _json(self, name: str, missing: Any) -> Any:
        file = self.path / name
        return json.loads(file.read_text(encoding="utf-8")) if file.exists() else missing

    def declares(self, name: str) -> bool:
        """Whether there are rows of this name and something is said about their columns."""
        entry = catalogue().get(name)
        return name in self.names and (name in self._schemas or (entry is not None and entry.domain != ""))

    def schema(self, name: str) -> Schema:
        """Return the public domain of a dataset: the folder's own, else that of the catalogue."""
        if name in self._schemas:
            return Schema.from_dict(self._schemas[name])
        if not self.declares(name):
            raise DatasetNotFoundError(
                f"{self.path} holds {name}.parquet, but its schema.json says nothing about {name!r}. Add an "
                'entry such as {"age": {"type": "integer", "min": 18, "max": 100}, "target": ...}.'
            )
        return domain(catalogue()[name].domain)

    def info(self, name: str, n_rows: int | None = None) -> DatasetInfo:
        """Return what is known about a dataset.

        Parameters
        ----------
        name : str
            One of `names`.
        n_rows : int, optional
            Number of rows, if they were read.
        """
        schema, facts, entry = self.schema(name), self._index.get(name, {}), catalogue().get(name)
        n_classes = schema.target.n_classes if isinstance(schema.target, Classes) else None
        faithful = facts.get("faithful", "not stated")
        info = DatasetInfo(
            name=name,
            task="regression" if n_classes is None else "classification",
            n_rows=n_rows if n_rows is not None else facts.get("n", -1),
            n_features=schema.n_features,
            n_classes=n_classes,
            licence=facts.get("licence", "not stated"),
            fidelity="faithful" if faithful is True else str(faithful),
            note=facts.get("note", ""),
            source=f"folder {self.path}",
        )
        if entry is None:
            return info
        known = entry.info
        if info.n_rows in (-1, known.n_rows):
            return replace(known, n_features=info.n_features, source=info.source)
        # Other rows than the catalogue knows must not pass under its word for them.
        fidelity = f"the folder holds {info.n_rows} rows, the catalogue knows {known.n_rows}"
        return replace(
            known, n_rows=info.n_rows, n_features=info.n_features, fidelity=fidelity, source=info.source
        )

    def load(self, name: str) -> Dataset:
        """Read a dataset.

        Parameters
        ----------
        name : str
            One of `names`.

        Returns
        -------
        Dataset
        """
        schema = self.schema(name)
        table = pandas().read_parquet(self.path / f"{name}.parquet")
        missing = [column for column in (*schema.names, TARGET) if column not in table.columns]
        if missing:
            raise DatasetNotFoundError(f"{name}.parquet in {self.path} has no column {', '.join(missing)}.")
        X = table[list(schema.names)]
        return Dataset(X, table[TARGET].to_numpy(), schema, self.info(name, len(table)))
