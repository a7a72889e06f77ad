"""`load` and `list_datasets`: the order in which places are asked, and what is said when all fail."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from difflib import get_close_matches
from typing import Any

from dpforest.papers.datasets import openml
from dpforest.papers.datasets.catalogue import Entry, catalogue, domain
from dpforest.papers.datasets.columns import TARGET, check, pandas, tidy
from dpforest.papers.datasets.dataset import Dataset, DatasetInfo, DatasetNotFoundError, Task
from dpforest.papers.datasets.folder import VARIABLE, Folder, open_folder
from dpforest.papers.datasets.packages import PACKAGED
from dpforest.papers.datasets.synthetic import GENERATED, generate, size_in_name
from dpforest.papers.datasets.views import VIEWS, describe, look

__all__ = ["list_datasets", "load"]


def load(name: str, *, folder: str | os.PathLike[str] | None = None) -> Dataset:
    """Load a dataset with its public schema.

    The folder is asked first, then installed packages, then OpenML.

    Parameters
    ----------
    name : str
        A name of `list_datasets`. A name with an @ is a dataset as the paper behind the @ used it; a number
        behind the @ of a drawn dataset is its number of rows.
    folder : path, optional
        Where files NAME.parquet are; by default the environment variable ``DPFOREST_DATA``.

    Returns
    -------
    Dataset
        Unpacks as ``X, y, schema``.

    Raises
    ------
    DatasetNotFoundError
        If the dataset is not here, with all ways to get it. Nothing is ever taken in its place.

    Examples
    --------
    >>> X, y, schema = load("wine")
    >>> X.shape, y.shape, schema.n_features
    ((178, 13), (178,), 13)
    >>> load("wine").info.licence
    'CC BY 4.0 (UCI)'
    """
    if name in VIEWS:
        return look(name, load(VIEWS[name].base, folder=folder))
    place = open_folder(folder)
    if place is not None and name in place.names:
        return place.load(name)
    drawn, n_rows = size_in_name(name)
    if drawn in GENERATED:
        return generate(drawn, n_rows)
    if name not in catalogue():
        raise DatasetNotFoundError(_unknown(name, place))
    entry, failures = catalogue()[name], list[str]()
    for source, read in _sources(name):
        try:
            features, target = read()
            schema = domain(entry.domain)
            table = tidy(features, target, schema)
            check(table, entry, schema)
        except (DatasetNotFoundError, OSError, ValueError, KeyError) as error:
            failures.append(f"{source}: {error}".rstrip("."))
            continue
        X = table[list(schema.names)]
        return Dataset(X, table[TARGET].to_numpy(), schema, replace(entry.info, source=source))
    tried = f" Tried {'; '.join(failures)}." if failures else ""
    raise DatasetNotFoundError(f"dataset {name!r} is not here.{tried} To get it: {_ways(name, entry)}.")


def _sources(name: str) -> Iterator[tuple[str, Any]]:
    """Places other than the folder that may have a dataset, each with a function that reads it."""
    for packaged in PACKAGED.get(name, ()):
        where = packaged.folder()
        if where is not None:
            yield packaged.package, lambda packaged=packaged, where=where: packaged.read(where)
    if name in openml.ON_OPENML:
        table = openml.ON_OPENML[name]
        yield f"OpenML {table.data_id}", lambda: openml.read(table)


def _ways(name: str, entry: Entry | None) -> str:
    """All ways to get a dataset, in one sentence."""
    rows = f" with the rows of {entry.origin}" if entry is not None and entry.origin else ""
    ways = [f"put {name}.parquet{rows}, with a column 'target', into a folder and set {VARIABLE} to it"]
    ways += [packaged.install for packaged in PACKAGED.get(name, ())]
    if name in openml.ON_OPENML:
        ways.append(f"have a network, and OpenML {openml.ON_OPENML[name].data_id} is fetched")
    return "; or ".join(ways)


def _unknown(name: str, place: Folder | None) -> str:
    known = [*catalogue(), *GENERATED, *VIEWS, *(place.names if place is not None else ())]
    near = get_close_matches(str(name), known, n=3)
    hint = f" Did you mean {' or '.join(map(repr, near))}?" if near else ""
    own = f"to add your own, {_ways(name, None)}"
    return f"there is no dataset {name!r}.{hint} list_datasets() shows all; {own}."


def list_datasets(task: Task | None = None, *, folder: str | os.PathLike[str] | None = None) -> Any:
    """List every dataset that `load` knows.

    Parameters
    ----------
    task : {"classification", "regression"}, optional
        Kind of target; both if not given.
    folder : path, optional
        As in `load`.

    Returns
    -------
    pandas.DataFrame
        A row per dataset. `source` says where it is on this machine and is empty if it is not; `how_to_get`
        says what to do then. OpenML counts as not here, since it needs a network.

    Examples
    --------
    >>> table = list_datasets("regression").set_index("name")
    >>> table.loc["diabetes", "source"]
    'scikit-learn'
    """
    place = open_folder(folder)
    infos = [*_known(place), *(clusters.info for clusters in GENERATED.values())]
    by_name = {info.name: info for info in infos}
    views = [describe(name, by_name[view.base]) for name, view in VIEWS.items() if view.base in by_name]
    rows = [_row(info, place) for info in (*infos, *views) if task in (None, info.task)]
    return pandas().DataFrame(rows).astype({"classes": "Int64"})


def _known(place: Folder | None) -> Iterator[DatasetInfo]:
    here = [] if place is None else [name for name in place.names if place.declares(name)]
    for name, entry in catalogue().items():
        yield place.info(name) if place is not None and name in here else entry.info
    for name in here:
        if place is not None and name not in catalogue():
            yield place.info(name)


def _row(info: DatasetInfo, place: Folder | None) -> dict[str, Any]:
    base = VIEWS[info.name].base if info.name in VIEWS else info.name
    source = ""
    if place is not None and place.declares(base):
        source = f"folder {place.path}"
    elif base in GENERATED:
        source = "drawn"
    else:
        source = next((p.package for p in PACKAGED.get(base, ()) if p.folder() is not None), "")
    return {
        "name": info.name,
        "task": info.task,
        "rows": info.n_rows,
        "features": info.n_features,
        "classes": info.n_classes,
        "licence": info.licence,
        "fidelity": info.fidelity,
        "papers": ", ".join(info.papers),
        "source": source,
        "how_to_get": "" if source else _ways(base, catalogue().get(base)),
    }
