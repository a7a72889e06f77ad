"""Raw columns of an ONNX graph to cells of the public grid, as `dpforest.schema` has them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpforest.export.nodes import Nodes
from dpforest.schema import Feature, Numeric, Ordinal
from dpforest.schema.features import LevelFeature
from dpforest.schema.values import as_number, read_value

_TRUTH_TEXTS = ("True", "true", "TRUE", "False", "false", "FALSE")
_MISSING_TEXTS = ("nan", "NaN", "NAN", "Nan", "-nan", "+nan")


def takes_text(feature: Feature) -> bool:
    """Tell whether a column comes in as text: a list that is not of numbers alone."""
    if isinstance(feature, Numeric):
        return False
    levels = feature.levels if isinstance(feature, Ordinal) else feature.categories
    return any(isinstance(level, str) for level in levels)


class OnnxColumns:
    """Inputs of a graph, and the nodes that encode them.

    Parameters
    ----------
    nodes : Nodes
        The graph.
    features : list of Feature
        One per column.
    names : list of str
        Names of the inputs.
    """

    def __init__(self, nodes: Nodes, features: list[Feature], names: list[str]) -> None:
        from onnx import TensorProto, helper

        self._nodes, self._features, self._names = nodes, features, names
        kinds = [TensorProto.STRING if takes_text(feature) else TensorProto.DOUBLE for feature in features]
        self.inputs = [
            helper.make_tensor_value_info(name, kind, ["rows", 1])
            for name, kind in zip(names, kinds, strict=True)
        ]

    def cells(self) -> str:
        """Encode all columns: a matrix of whole numbers, in the order of the features."""
        grids: dict[int, list[int]] = {}
        parts, order = [], []
        for at, feature in enumerate(self._features):
            if isinstance(feature, Numeric):
                grids.setdefault(feature.bins, []).append(at)
                continue
            assert isinstance(feature, LevelFeature)
            parts.append((self._texts if takes_text(feature) else self._numbers)(self._names[at], feature))
            order.append(at)
        for bins, columns in grids.items():
            parts.append(self._grid(bins, columns))
            order += columns
        found = parts[0] if len(parts) == 1 else self._nodes.add("Concat", *parts, axis=1)
        if order == sorted(order):
            return found
        return self._nodes.add("Gather", found, self._nodes.constant(np.argsort(order)), axis=1)

    def _grid(self, bins: int, columns: list[int]) -> str:
        """Count the borders at or below each number, for all columns of one size at once."""
        nodes = self._nodes
        values = nodes.add("Concat", *(self._names[at] for at in columns), axis=1)
        features: list[Any] = [self._features[at] for at in columns]
        place = nodes.search(values, np.stack([feature.borders for feature in features]), "GreaterOrEqual")
        return nodes.add("Where", nodes.add("IsNaN", values), nodes.whole(bins), place)

    def _numbers(self, name: str, feature: LevelFeature) -> str:
        """Find numbers in a public list."""
        nodes, table = self._nodes, feature.table
        keys = padded(table.numbers[None], np.inf)
        place = nodes.search(name, keys, "GreaterOrEqual")
        last = nodes.add("Max", nodes.add("Sub", place, nodes.whole(1)), nodes.whole(0))
        same = nodes.add("Equal", nodes.add("Gather", nodes.constant(keys[0]), last), name)
        cells = nodes.constant(np.append(table.number_cells, np.full(keys.size - len(table.numbers), 0)))
        cell = nodes.add("Where", same, nodes.add("Gather", cells, last), nodes.whole(feature.other_cell))
        infinite = nodes.add("IsInf", name)
        cell = nodes.add("Where", infinite, nodes.whole(feature.other_cell), cell)
        return nodes.add("Where", nodes.add("IsNaN", name), nodes.whole(feature.missing_cell), cell)

    def _texts(self, name: str, feature: LevelFeature) -> str:
        """Find texts in a public list."""
        found = spellings(feature)
        return self._nodes.add(
            "LabelEncoder", name, domain="ai.onnx.ml",
            keys_strings=list(found), values_int64s=list(found.values()), default_int64=feature.other_cell,
        )  # fmt: skip


def padded(borders: NDArray[Any], beyond: float) -> NDArray[Any]:
    """Return rising borders with more of them at the end, as many as `Nodes.search` wants."""
    size = 2 ** int(borders.shape[1]).bit_length() - 1
    return np.pad(borders, ((0, 0), (0, size - borders.shape[1])), constant_values=beyond)


def spellings(feature: LevelFeature) -> dict[str, int]:
    """Texts that stand for a declared value or a missing one: as declared, and usual forms of numbers."""
    texts, numbers = feature.table.written()
    usual: dict[str, int] = dict.fromkeys(_MISSING_TEXTS, feature.missing_cell)
    for kind, number, cell in numbers:
        if kind == "number" and math.isfinite(number):
            forms = [repr(number), *([str(int(number))] if number.is_integer() else [])]
            forms += [word for word in _TRUTH_TEXTS if as_number(word) == number]
            usual |= dict.fromkeys(forms, cell)
    return {text: cell for text, cell in usual.items() if feature.cell_of(text) == cell} | texts


def columns_for(model: Any, rows: list[list[Any]]) -> dict[str, NDArray[Any]]:
    """Make the inputs of a model's graph of rows of any values.

    Parameters
    ----------
    model : fitted estimator
        The model.
    rows : list of list
        Values in the order of the schema.
    """
    found: dict[str, NDArray[Any]] = {}
    for at, (name, feature) in enumerate(model.schema_.features.items()):
        values = [row[at] for row in rows]
        column: list[Any] = [_as_text(value) for value in values]
        if not takes_text(feature):
            column = [math.nan if number is None else number for number in map(as_number, values)]
        found[name] = np.array(column, object if takes_text(feature) else np.float64)[:, None]
    return found


def _as_text(value: Any) -> str:
    reading = read_value(value)
    return reading.text if reading.kind == "text" else str(value) if reading.kind == "number" else "nan"
