"""A table and its neighbours: one person's rows put in, taken out or exchanged, at either end and between."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dpforest.privacy import NeighboringRelation

# From rows and labels to what `fit` takes: an array, a data frame, ...
Source: TypeAlias = Callable[[list[Any], list[Any]], tuple[Any, Any]]
Places: TypeAlias = NDArray[np.int64]


@dataclass(frozen=True)
class Table:
    """Rows, their labels, and the code of each label: -1 for one that is not declared."""

    rows: list[Any]
    labels: list[Any]
    codes: NDArray[np.int32]


@dataclass(frozen=True)
class Neighbour:
    """A neighbouring table.

    Parameters
    ----------
    words : str
        What differs.
    rows, labels : list
        The table.
    kept : ndarray of int
        For every row, its place in the first table, or -1 if it is new.
    """

    words: str
    rows: list[Any]
    labels: list[Any]
    kept: Places


def neighbours_of(
    table: Table, person: Table, relation: NeighboringRelation, by_part: bool
) -> Iterator[Neighbour]:
    """Yield the neighbours of a table.

    Parameters
    ----------
    table : Table
        The table.
    person : Table
        Who is added, or put in the place of others; for a change of labels only their labels count.
    relation : NeighboringRelation
        What one person may change.
    by_part : bool
        Labelled and unlabelled rows of a person are limited each by itself: who goes has as many of either
        kind as who comes.
    """
    n, is_labelled = len(person.rows), table.codes >= 0
    wanted = [(np.arange(len(table.rows)), n)]  # who may go, and how many
    if by_part:
        n_labelled = int((person.codes >= 0).sum())
        wanted = [(np.flatnonzero(is_labelled), n_labelled), (np.flatnonzero(~is_labelled), n - n_labelled)]
    if relation is NeighboringRelation.LABEL_CHANGE:  # who is labelled is public
        wanted = [(np.flatnonzero(is_labelled & (table.codes != person.codes[0])), n)]
    for at, name in enumerate(("in front", "in the middle", "at the end")):
        if relation is NeighboringRelation.ADD_OR_REMOVE_ONE:
            yield _with(table, person, at * len(table.rows) // 2, name)
        if any(len(rows) < n for rows, n in wanted):
            continue  # nobody there to go
        start = [at * (len(rows) - n) // 2 for rows, n in wanted]
        old = np.concatenate([rows[s : s + n] for s, (rows, n) in zip(start, wanted, strict=True)])
        if relation is NeighboringRelation.ADD_OR_REMOVE_ONE:
            yield _without(table, np.sort(old), name)
        elif relation is NeighboringRelation.REPLACE_ONE:
            yield _exchanged(table, old, person, name)
        else:
            yield _relabelled(table, old, person, name)


def _with(table: Table, person: Table, place: int, name: str) -> Neighbour:
    rows, labels = table.rows, table.labels
    return Neighbour(
        f"{_rows(person.rows)} more, {name}",
        [*rows[:place], *person.rows, *rows[place:]],
        [*labels[:place], *person.labels, *labels[place:]],
        np.insert(np.arange(len(rows)), place, [-1] * len(person.rows)),
    )


def _without(table: Table, old: Places, name: str) -> Neighbour:
    kept = np.delete(np.arange(len(table.rows)), old)
    rows, labels = ([part[at] for at in kept] for part in (table.rows, table.labels))
    return Neighbour(f"{_rows(old)} fewer, {name}", rows, labels, kept)


def _exchanged(table: Table, old: Places, person: Table, name: str) -> Neighbour:
    rows, labels, kept = list(table.rows), list(table.labels), np.arange(len(table.rows))
    for at, row, label in zip(old, person.rows, person.labels, strict=True):
        rows[at], labels[at], kept[at] = row, label, -1
    return Neighbour(f"{_rows(old)} exchanged, {name}", rows, labels, kept)


def _relabelled(table: Table, old: Places, person: Table, name: str) -> Neighbour:
    labels = list(table.labels)
    for at, label in zip(old, person.labels, strict=True):
        labels[at] = label
    words = f"the {'label' if len(old) == 1 else 'labels'} of {_rows(old)} changed, {name}"
    return Neighbour(words, table.rows, labels, np.arange(len(table.rows)))


def _rows(rows: Sequence[Any] | Places) -> str:
    return "one row" if len(rows) == 1 else f"{len(rows)} rows"
