"""Nodes and constants of an ONNX graph under construction. Used by `onnx` and `columns`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray


class Nodes:
    """What a graph is made of so far.

    Parameters
    ----------
    taken : iterable of str
        Names of the inputs, which nothing else may have.
    """

    def __init__(self, taken: Iterable[str]) -> None:
        self.all: list[Any] = []
        self.constants: list[Any] = []
        self._taken = frozenset(taken)
        self._prefix = "_"
        while any(name.startswith(self._prefix) for name in self._taken):
            self._prefix += "_"
        self._scalars: dict[tuple[type, Any], str] = {}

    def add(self, op: str, *inputs: str, domain: str = "", **attributes: Any) -> str:
        """Add an operation of one output; return the name of the output."""
        from onnx import helper

        name = f"{self._prefix}{len(self.all)}"
        self.all.append(helper.make_node(op, list(inputs), [name], domain=domain, **attributes))
        return name

    def constant(self, values: NDArray[Any]) -> str:
        """Add an array; return its name."""
        from onnx import TensorProto, helper, numpy_helper

        name = f"{self._prefix}c{len(self.constants)}"
        if values.dtype.kind in "UO":
            texts: Any = [str(value).encode() for value in values.ravel()]
            made = helper.make_tensor(name, TensorProto.STRING, values.shape, texts)
        else:
            made = numpy_helper.from_array(np.ascontiguousarray(values), name)
        self.constants.append(made)
        return name

    def scalar(self, value: float) -> str:
        """Name of a double."""
        return self._scalar(np.float64(value))

    def whole(self, value: int) -> str:
        """Name of a whole number."""
        return self._scalar(np.int64(value))

    def _scalar(self, value: Any) -> str:
        key = type(value), value.item()
        if key not in self._scalars:
            self._scalars[key] = self.constant(np.array(value))
        return self._scalars[key]

    def cast(self, name: str, dtype: DTypeLike) -> str:
        """Change the type of an array."""
        from onnx import helper

        return self.add("Cast", name, to=helper.np_dtype_to_tensor_dtype(np.dtype(dtype)))

    def total(self, name: str, axis: int, keep: bool = False) -> str:
        """Sum along an axis."""
        return self.add("ReduceSum", name, self.constant(np.array([axis])), keepdims=int(keep))

    def first_column(self, name: str) -> str:
        """Take the first column of a matrix, as a matrix."""
        return self.add("Gather", name, self.constant(np.array([0])), axis=1)

    def search(self, values: str, borders: NDArray[Any], op: str) -> str:
        """Count the borders that each value is above, by binary search: for all columns at once.

        Parameters
        ----------
        values : str
            Matrix of values.
        borders : ndarray of shape (n_columns, 2**k - 1)
            Rising borders of every column, so that every search takes k steps.
        op : {"Greater", "GreaterOrEqual"}
            Whether a value that is equal to a border is above it.
        """
        n_columns, n_borders = borders.shape
        flat, start = self.constant(borders.ravel()), np.arange(n_columns) * n_borders
        place, step = self.constant(np.zeros((1, n_columns), np.int64)), (n_borders + 1) // 2
        while step:
            at = self.add("Add", place, self.constant(start + step - 1))
            above = self.cast(self.add(op, values, self.add("Gather", flat, at)), np.int64)
            place = self.add("Add", place, self.add("Mul", above, self.whole(step)))
            step //= 2
        return place

    def output(self, wanted: str, name: str, dtype: DTypeLike, width: int | None) -> Any:
        """Declare an output of one value, or of `width` values, per row, under a name that is free."""
        from onnx import TensorProto, helper

        while wanted in self._taken:
            wanted += "_"
        self.all.append(helper.make_node("Identity", [name], [wanted]))
        kind = np.dtype(dtype)
        of = TensorProto.STRING if kind.kind in "UO" else helper.np_dtype_to_tensor_dtype(kind)
        return helper.make_tensor_value_info(wanted, of, ["rows"] if width is None else ["rows", width])
