"""Neighbouring tables: all of them over a small domain, adversarial presets, and random ones.

`exact` enumerates `neighbours`; `statistical` tries the pairs of `presets`. Each preset is a way in which
real code has leaked: a leaf that was empty, a value at the edge, an order that one more row shifts. It says
which rows everybody else has and which row is odd; `_neighbours_by` makes two tables of that, by the
neighbouring relation that is promised.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement, product
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from dpforest.privacy import NeighboringRelation
from dpforest.schema import Classes, Feature, Nominal, Numeric, Range, Schema

Record = TypeVar("Record", bound=Hashable)
N_ROWS = 8  # few rows, so that one more is noticed and fits are fast


class Table(NamedTuple):
    """Features and target of some rows."""

    X: NDArray[Any]
    y: NDArray[Any]


@dataclass(frozen=True)
class NeighbourPair:
    """Two neighbouring tables, and where to look for the difference.

    Parameters
    ----------
    name : str
        Short name.
    words : str
        The two tables in words.
    first, second : Table
        The tables.
    probes : ndarray of shape (n_probes, n_features)
        Rows to ask the fitted model about: the adversary knows both tables.
    """

    name: str
    words: str
    first: Table
    second: Table
    probes: NDArray[Any]

    @classmethod
    def of(cls, first: tuple[Any, Any], second: tuple[Any, Any], words: str = "as given") -> NeighbourPair:
        """Make a pair of two given tables ``(X, y)``; the model is asked about up to four different rows.

        Examples
        --------
        >>> pair = NeighbourPair.of(([[0.0]], [0]), ([[0.0], [1.0]], [0, 1]))
        >>> pair.probes
        array([[0.],
               [1.]])
        """
        before, after = (Table(np.asarray(X), np.asarray(y)) for X, y in (first, second))
        rows = [
            row for table in (after, before) for row in table.X[::-1]
        ]  # the last row is often the odd one
        probes = list({tuple(row): row for row in rows}.values())[:4]
        return cls("given pair", words, before, after, np.array(probes[::-1], after.X.dtype))


def neighbours(
    domain: Sequence[Record],
    max_rows: int,
    relation: NeighboringRelation = NeighboringRelation.ADD_OR_REMOVE_ONE,
    ordered: bool = False,
) -> Iterator[tuple[tuple[Record, ...], tuple[Record, ...]]]:
    """All pairs of neighbouring tables over a small domain.

    Parameters
    ----------
    domain : sequence of hashable
        All records.
    max_rows : int
        Rows of the larger table.
    relation : NeighboringRelation
        ADD_OR_REMOVE_ONE or REPLACE_ONE; for label changes give a domain of labels and replace one.
    ordered : bool, default=False
        Also all orders of the rows and all places of the new one, for code that looks at the order.

    Yields
    ------
    tuple of two tables
        The smaller one first.

    Examples
    --------
    >>> list(neighbours("ab", max_rows=1))
    [((), ('a',)), ((), ('b',))]
    >>> sum(1 for _ in neighbours("ab", max_rows=3)), sum(1 for _ in neighbours("ab", 3, ordered=True))
    (12, 34)
    """
    replace = relation is NeighboringRelation.REPLACE_ONE
    for n_rows in range(max_rows):
        tables: Iterable[tuple[Record, ...]]
        tables = product(domain, repeat=n_rows) if ordered else combinations_with_replacement(domain, n_rows)
        for rows in tables:
            places = range(n_rows + 1) if ordered else [n_rows]
            for place, record in product(places, domain):
                after = (*rows[:place], record, *rows[place:])
                if not replace:
                    yield rows, after
                else:
                    for other in domain:
                        if other != record:
                            yield (*rows[:place], other, *rows[place:]), after


def presets(
    schema: Schema,
    relation: NeighboringRelation = NeighboringRelation.ADD_OR_REMOVE_ONE,
    *,
    n_rows: int = N_ROWS,
    rows_per_person: int = 1,
    labelled_and_not: bool = False,
    unknown_values: bool = True,
    random_state: int = 0,
) -> list[NeighbourPair]:
    """Adversarial pairs for a declared domain.

    Parameters
    ----------
    schema : Schema
        The domain, with its target.
    relation : NeighboringRelation
        What one person may change.
    n_rows : int, default=8
        Rows of everybody else.
    rows_per_person : int, default=1
        Rows that the odd person has, all alike.
    labelled_and_not : bool, default=False
        The odd person has as many rows without label as well.
    unknown_values : bool, default=True
        Also pairs with missing values, undeclared values and rows without label. They are part of every table
        of people, but many libraries raise an error on them.
    random_state : int, default=0
        For the one random pair.

    Returns
    -------
    list of NeighbourPair

    Examples
    --------
    >>> from dpforest.schema import Classes, Numeric, Schema
    >>> schema = Schema({"age": Numeric(0, 100)}, Classes(["died", "home"]))
    >>> [pair.name for pair in presets(schema, unknown_values=False)]
    ['one row alone', 'duplicates', 'identical and one odd', 'empty leaf', 'boundary value',
     'sorted by label', 'labels in turn', 'random']
    >>> print(presets(schema)[2].words)
    8 rows alike (all features lowest, target died), and one row more (all features highest, target home)
    """
    stories = list(_stories(schema, n_rows, unknown_values, np.random.default_rng(random_state)))
    pairs = [_neighbours_by(relation, story, schema, rows_per_person, labelled_and_not) for story in stories]
    return [pair for pair in pairs if pair is not None]


def random_rows(
    schema: Schema, n_rows: int, rng: np.random.Generator
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Draw rows uniformly from the domain, with a target at either end and the one at the other end.

    Parameters
    ----------
    schema : Schema
        The domain.
    n_rows : int
        How many.
    rng : Generator
        Randomness.

    Returns
    -------
    X, y, other : ndarray
        Rows, their targets, and the opposite targets.
    """
    rows = [_random_row(schema, rng) for _ in range(n_rows)]
    table = _table(rows, schema)
    first, last = _labels(schema)
    other = [row._replace(label=first if row.label == last else last) for row in rows]
    return table.X, table.y, _table(other, schema).y


class _Row(NamedTuple):
    """A row and how to call it."""

    values: list[Any]
    label: Any
    words: str


class _Story(NamedTuple):
    """Who is in the table already, who is odd, and who an odd row replaces."""

    name: str
    others: list[_Row]
    words: str
    odd: _Row
    usual: _Row
    place: int | None = None  # where the odd rows go; the end by default


def _stories(schema: Schema, n: int, unknown_values: bool, rng: np.random.Generator) -> Iterator[_Story]:
    """Write down every preset once, whatever the neighbouring relation."""
    first, last = _labels(schema)
    low, middle, high = (
        [_value_at(feature, part) for feature in schema.features.values()] for part in (0.0, 0.5, 1.0)
    )
    lowest = _Row(low, first, f"all features lowest, target {first}")
    highest = _Row(high, last, f"all features highest, target {last}")
    central = _Row(middle, first, f"all features central, target {first}")
    alike = f"{n} rows alike ({lowest.words})"
    yield _Story("one row alone", [], "no row", highest, lowest)
    yield _Story("duplicates", [lowest] * n, alike, lowest, highest)
    yield _Story("identical and one odd", [lowest] * n, alike, highest, lowest)
    lower = [
        _Row([_value_at(f, 0.4 * rng.random()) for f in schema.features.values()], first, "")
        for _ in range(n)
    ]
    yield _Story("empty leaf", lower, f"{n} rows in the lower part (target {first})", highest, lower[0])
    edge = _Row(high, last, f"all features at their upper bound, target {last}")
    crowd = f"{n} rows alike ({central.words})"
    yield _Story("boundary value", [central] * n, crowd, edge, central)
    nominal = [f for f in schema.features.values() if isinstance(f, Nominal)]
    if nominal:
        values = [_value_at(f, 1.0 if isinstance(f, Nominal) else 0.0) for f in schema.features.values()]
        new = _Row(values, first, f"a category that nobody else has, target {first}")
        yield _Story("new category", [lowest] * n, alike, new, lowest)
    halves = [lowest] * (n // 2) + [lowest._replace(label=last)] * (n // 2)
    queue = f"{n // 2} rows with target {first}, then {n // 2} with {last}"
    in_front = lowest._replace(words=f"target {first}, in front of all others")
    yield _Story("sorted by label", halves, queue, in_front, lowest._replace(label=last), place=0)
    turns = [lowest, lowest._replace(label=last)] * (n // 2)
    queue = f"{n} rows alike (all features lowest), with targets {first} and {last} in turn"
    in_front = lowest._replace(label=last, words=f"target {last}, in front of all others")
    yield _Story("labels in turn", turns, queue, in_front, lowest, place=0)
    if unknown_values:
        far = [_beyond(f) for f in schema.features.values()]
        outlier = _Row(far, first, f"all features beyond the declared domain, target {first}")
        yield _Story("beyond the domain", [central] * n, crowd, outlier, central)
        empty = _Row([None] * schema.n_features, last, f"all features missing, target {last}")
        yield _Story("missing values", [lowest] * n, alike, empty, lowest)
        if isinstance(schema.target, Classes):
            mixed = [lowest, lowest._replace(label=None)] * (n // 2)
            some = f"{n} rows alike (all features lowest), half with target {first}, half without"
            unlabelled = _Row(high, None, "all features highest, no target")
            yield _Story("row without label", mixed, some, unlabelled, lowest._replace(label=None))
            yield _Story("labelled among unlabelled", mixed, some, highest, lowest)
    drawn = [_random_row(schema, rng) for _ in range(n + 2)]
    yield _Story("random", drawn[2:], f"{n} random rows", drawn[0], drawn[1])


def _neighbours_by(
    relation: NeighboringRelation,
    story: _Story,
    schema: Schema,
    rows_per_person: int,
    labelled_and_not: bool,
) -> NeighbourPair | None:
    """Turn a story into two tables; None where the relation leaves nothing to change."""
    others, odd, usual = story.others, story.odd, story.usual
    place = len(others) if story.place is None else story.place
    many = "one row" if rows_per_person == 1 else f"{rows_per_person} rows"
    if relation is NeighboringRelation.ADD_OR_REMOVE_ONE:
        replaced, words = [], f"{story.words}, and {many} more ({odd.words})"
    elif relation is NeighboringRelation.REPLACE_ONE:
        replaced = [usual] * rows_per_person
        words = f"{story.words}; {many} more, in one table usual, in the other odd ({odd.words})"
    else:
        if odd.label is None:
            return None  # who is labelled is public
        flipped = next(label for label in _labels(schema)[::-1] if label != odd.label)
        replaced = [odd._replace(label=flipped)] * rows_per_person
        words = f"{story.words}; {many} more ({odd.words}), in one table with target {flipped}"
    before = [*others[:place], *replaced, *others[place:]]
    mine = [odd] * rows_per_person
    if labelled_and_not:
        mine += [odd._replace(label=None)] * rows_per_person
        words = f"{words}, and as many without target"
    after = [*others[:place], *mine, *others[place:]]
    probes = [odd.values, usual.values, *(row.values for row in others)]
    distinct = list({tuple(map(str, row)): row for row in probes}.values())[:3]
    return NeighbourPair(
        story.name, words, _table(before, schema), _table(after, schema), _matrix(distinct, schema)
    )


def _table(rows: list[_Row], schema: Schema) -> Table:
    labels = [row.label for row in rows]
    known = np.asarray(_labels(schema))
    # a type that depends on the rows would tell other libraries' models how many there are
    kind = known.dtype if known.dtype.kind in "biuf" and None not in labels else np.dtype(object)
    y = np.array(labels, np.float64 if isinstance(schema.target, Range) else kind)
    return Table(_matrix([row.values for row in rows], schema), y)


def _matrix(rows: list[list[Any]], schema: Schema) -> NDArray[Any]:
    numeric = all(isinstance(f, Numeric) for f in schema.features.values())
    return np.array(rows, np.float64 if numeric else object).reshape(len(rows), schema.n_features)


def _labels(schema: Schema) -> tuple[Any, Any]:
    """Two targets as different as can be."""
    if isinstance(schema.target, Classes):
        return schema.target.labels[0], schema.target.labels[-1]
    if isinstance(schema.target, Range):
        return schema.target.low, schema.target.high
    raise ValueError("An audit needs a schema with a target: give Schema(features, target=...).")


def _value_at(feature: Feature, part: float) -> Any:
    """Return the value that lies at some part of the way from the lowest to the highest."""
    if isinstance(feature, Numeric):
        value = feature.low + part * (feature.high - feature.low)
        return float(round(value)) if feature.integer else value
    levels = feature.categories if isinstance(feature, Nominal) else feature.levels
    return levels[min(int(part * len(levels)), len(levels) - 1)]


def _beyond(feature: Feature) -> Any:
    if isinstance(feature, Numeric):
        return feature.high + 10 * (feature.high - feature.low)
    return "a value that nobody declared"


def _random_row(schema: Schema, rng: np.random.Generator) -> _Row:
    values = [_value_at(feature, float(rng.random())) for feature in schema.features.values()]
    return _Row(values, _labels(schema)[int(rng.integers(2))], "random")
