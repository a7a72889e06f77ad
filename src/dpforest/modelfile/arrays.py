"""Arrays of whole numbers as text: shape, type and little-endian bytes in base64.

The narrowest type that holds the values is used; a table of bits (`"bits"`) packs eight to the byte. Reading
compares the length of the text with the shape before it decodes anything. Called by `record`.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpforest.modelfile.errors import ModelFileError

_WIDTHS = {"<i1": 1, "<i2": 2, "<i4": 4, "<i8": 8}
_BITS = "bits"


def write_array(values: NDArray[Any]) -> dict[str, Any]:
    """Return the JSON-ready form of an array of whole numbers.

    Examples
    --------
    >>> import numpy as np
    >>> write_array(np.array([[1, 2, 300]]))
    {'shape': [1, 3], 'dtype': '<i2', 'data': 'AQACACwB'}
    """
    low, high = int(values.min(initial=0)), int(values.max(initial=0))
    dtype = next(d for d in _WIDTHS if np.iinfo(d).min <= low and high <= np.iinfo(d).max)
    return _document(values.shape, dtype, values.astype(dtype).tobytes())


def write_bits(values: NDArray[Any]) -> dict[str, Any]:
    """Return the JSON-ready form of an array of zeros and ones.

    Examples
    --------
    >>> import numpy as np
    >>> write_bits(np.array([[1, 0, 1]]))
    {'shape': [1, 3], 'dtype': 'bits', 'data': 'oA=='}
    """
    return _document(values.shape, _BITS, np.packbits(values.astype(np.uint8).ravel()).tobytes())


def _document(shape: Sequence[int], dtype: str, data: bytes) -> dict[str, Any]:
    return {"shape": list(shape), "dtype": dtype, "data": base64.b64encode(data).decode("ascii")}


def read_shape(document: Any, name: str, n_axes: Sequence[int], limit: int) -> tuple[int, ...]:
    """Return the declared shape, checked against a limit on the number of entries.

    Parameters
    ----------
    document : mapping
        From a file.
    name : str
        What it is, for messages.
    n_axes : sequence of int
        Numbers of axes that are allowed.
    limit : int
        Most entries.
    """
    if not isinstance(document, dict) or set(document) != {"shape", "dtype", "data"}:
        raise ModelFileError(f"{name} must have shape, dtype and data, and nothing else.")
    shape = document["shape"]
    if (
        not isinstance(shape, list)
        or len(shape) not in n_axes
        or not all(type(size) is int and 0 <= size <= limit for size in shape)
        or math.prod(shape) > limit
    ):
        raise ModelFileError(f"the shape of {name} is not possible.")
    return tuple(shape)


def read_array(document: Any, name: str, shape: tuple[int, ...], dtype: type[np.generic]) -> NDArray[Any]:
    """Decode an array whose shape the caller knows and has checked.

    Parameters
    ----------
    document : mapping
        From a file, as `read_shape` accepts it.
    name : str
        What it is, for messages.
    shape : tuple of int
        What the shape must be.
    dtype : numpy type
        Signed integers, or uint8 for a table of bits.

    Examples
    --------
    >>> import numpy as np
    >>> read_array(write_array(np.array([[1, 2, 300]])), "counts", (1, 3), np.int64)
    array([[  1,   2, 300]])
    """
    if read_shape(document, name, [len(shape)], max(*shape, math.prod(shape))) != shape:
        raise ModelFileError(f"{name} must have shape {list(shape)}, not {document['shape']}.")
    written, size = document["dtype"], math.prod(shape)
    if written not in ([_BITS] if dtype is np.uint8 else _WIDTHS):
        raise ModelFileError(f"{name} cannot have the type {str(written)[:20]!r}.")
    n_bytes = -(-size // 8) if written == _BITS else size * _WIDTHS[written]
    text = document["data"]
    if not isinstance(text, str) or len(text) != 4 * -(-n_bytes // 3):
        raise ModelFileError(f"the data of {name} are not as long as its shape says.")
    try:
        data = base64.b64decode(text, validate=True)
    except ValueError:
        raise ModelFileError(f"the data of {name} are not base64.") from None
    if len(data) != n_bytes:
        raise ModelFileError(f"the data of {name} are not as long as its shape says.")
    if written == _BITS:
        return np.unpackbits(np.frombuffer(data, np.uint8), count=size).reshape(shape)
    values = np.frombuffer(data, np.dtype(written))
    limits = np.iinfo(dtype)  # type: ignore[type-var]
    if values.size and (values.min() < limits.min or values.max() > limits.max):
        raise ModelFileError(f"{name} holds numbers that are too large.")
    return values.astype(dtype).reshape(shape)
