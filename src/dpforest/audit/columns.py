"""Columns of numbers made of readings: what rules look at.

A reading that is a number is a column as it is. Every phrase that some runs have and others do not is a
column of 0 and 1; so are NaN, and a reading that is not there. `wagers` makes a `Reader` of the runs so far.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence, Set
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpforest._arrays import FloatArray
from dpforest.audit.readings import Observation

NAN, MISSING = "is NaN", "is not there"
MAX_PHRASES = 20  # of one reading that become columns


@dataclass(frozen=True)
class Column:
    """One column of numbers made of a reading.

    Parameters
    ----------
    of : str
        Name of the reading.
    phrase : str or None
        The column is 1 where the reading is this phrase, else 0; None for the number itself, which is NaN
        where the reading is no number.
    """

    of: str
    phrase: str | None = None

    def __str__(self) -> str:
        return self.of if self.phrase is None else f"{self.of} {self.phrase}"


@dataclass(frozen=True)
class Runs:
    """What some runs with one table released, reading by reading.

    Parameters
    ----------
    number : int
        How many runs.
    readings : dict of str to ndarray
        One entry per run: numbers, or objects where some readings are phrases.
    """

    number: int
    readings: dict[str, NDArray[Any]]

    @classmethod
    def of(cls, observations: Sequence[Observation]) -> Runs:
        """Put the observations of single runs side by side.

        Examples
        --------
        >>> Runs.of([{"n": 1.0}, {"n": 2.0, "label": "= 'a'"}]).readings
        {'n': array([1., 2.]), 'label': array(['is not there', "= 'a'"], dtype=object)}
        """
        names = dict.fromkeys(name for observation in observations for name in observation)
        readings: dict[str, NDArray[Any]] = {}
        for name in names:
            values = [observation.get(name, MISSING) for observation in observations]
            only_numbers = all(type(value) is float for value in values)
            readings[name] = np.array(values, np.float64 if only_numbers else object)
        return cls(len(observations), readings)

    def part(self, begin: int, end: int | None = None) -> Runs:
        """Return some of the runs."""
        chosen = slice(begin, end)
        count = len(range(self.number)[chosen])
        return Runs(count, {name: values[chosen] for name, values in self.readings.items()})

    def __add__(self, later: Runs) -> Runs:
        """Return these runs and later ones."""
        names = dict.fromkeys([*self.readings, *later.readings])
        return Runs(
            self.number + later.number,
            {name: np.concatenate([self._values(name), later._values(name)]) for name in names},
        )

    def _values(self, name: str) -> NDArray[Any]:
        values = self.readings.get(name)
        return np.full(self.number, MISSING, object) if values is None else values

    def numbers(self, name: str) -> FloatArray:
        """Return the numbers of a reading, NaN where it is none."""
        values = self.readings.get(name)
        if values is None:
            return np.full(self.number, np.nan)
        if values.dtype != object:
            return values
        return np.array([value if isinstance(value, float) else np.nan for value in values], np.float64)

    def phrases(self, name: str) -> list[str]:
        """Return the phrases of a reading, empty where it is a number."""
        values = self._values(name)
        if values.dtype != object:
            nan = np.isnan(values)
            return [NAN if here else "" for here in nan] if nan.any() else [""] * self.number
        return [value if isinstance(value, str) else NAN if value != value else "" for value in values]


@dataclass(frozen=True)
class Reader:
    """The columns that are looked at: those that differed between runs so far.

    Parameters
    ----------
    columns : tuple of Column
        In the order of the readings.
    """

    columns: tuple[Column, ...]

    @classmethod
    def learn(cls, first: Runs, second: Runs, without: Set[str] = frozenset()) -> Reader:
        """Find the columns in which earlier runs differ.

        Parameters
        ----------
        first, second : Runs
            With either table.
        without : set of str
            Readings that are not looked at.

        Returns
        -------
        Reader

        Examples
        --------
        >>> first, second = Runs.of([{"mean": float("nan")}] * 3), Runs.of([{"mean": 1.0}] * 3)
        >>> print(*Reader.learn(first, second).columns, sep=", ")
        mean is NaN
        """
        columns: list[Column] = []
        for name in dict.fromkeys([*first.readings, *second.readings]):
            if name in without:
                continue
            phrases = [*first.phrases(name), *second.phrases(name)]
            known = Counter(phrases).most_common(MAX_PHRASES + 1)
            if len(known) > 1:
                columns += [Column(name, phrase) for phrase, count in known if phrase and count > 1]
            values = np.concatenate([first.numbers(name), second.numbers(name)])
            values = values[~np.isnan(values)]
            if len(values) and (values != values[0]).any():
                columns.append(Column(name))
        return cls(tuple(columns))

    def matrix(self, runs: Runs) -> FloatArray:
        """Return the columns of some runs, shape (n_runs, n_columns)."""
        made: list[Any] = []
        known: dict[str, list[str]] = {}
        for column in self.columns:
            if column.phrase is None:
                made.append(runs.numbers(column.of))
                continue
            if column.of not in known:
                known[column.of] = runs.phrases(column.of)
            made.append([float(phrase == column.phrase) for phrase in known[column.of]])
        return np.array(made, np.float64).reshape(len(self.columns), runs.number).T
