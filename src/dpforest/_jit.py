"""How kernels are compiled: quickly, because whoever fits the first model waits for it.

The first fit on a machine compiles every kernel that it meets, about a tenth of a second each; later
processes load the machine code from disk. What keeps that short:

* a kernel does one thing. A choice between formulas is made where it is called, so that the others are not
  compiled with it;
* every kernel meets one combination of types. Callers cast, and a counter that is handed on begins as
  ``np.int64(0)``: a plain 0 has a type of its own, for which everything below is compiled once more;
* plain loops. ``np.zeros``, ``np.arange``, ``sum`` or ``reshape`` inside a kernel are compiled with it.

Importing this file imports numba; callers of kernels do that late.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from llvmlite import ir
from numba import njit, types
from numba.core import cgutils, event
from numba.extending import intrinsic

# With numpy's error model there is no check for a division by zero in front of every division: kernels divide
# by public numbers that are at least 1, or look before they divide. No kernel is called from C.
_HOW = {"error_model": "numpy", "no_cfunc_wrapper": True}
KERNEL = {"cache": True, "nogil": True} | _HOW


def kernel(function: Callable[..., Any]) -> Any:
    """Compile what Python calls: without the interpreter lock, and kept on disk."""
    return njit(**KERNEL)(function)


def part(function: Callable[..., Any]) -> Any:
    """Compile what kernels call from several places."""
    return njit(**_HOW)(function)


def inlined(function: Callable[..., Any]) -> Any:
    """Put what a kernel calls once into it before it is compiled: cheaper than a function of its own."""
    return njit(inline="always", **_HOW)(function)


@intrinsic  # type: ignore[untyped-decorator]
def prefetch(_context: Any, array: Any, row: Any, column: Any) -> Any:
    """Begin to fetch ``array[row, column]`` into the cache; nothing else depends on it."""

    def generate(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        of_array = context.make_array(signature.args[0])(context, builder, given[0])
        strides = [builder.extract_value(of_array.strides, axis) for axis in range(2)]
        apart = builder.add(builder.mul(strides[0], given[1]), builder.mul(strides[1], given[2]))
        bytes_at, number = ir.IntType(8).as_pointer(), ir.IntType(32)
        place = builder.gep(builder.bitcast(of_array.data, bytes_at), [apart])
        kind = ir.FunctionType(ir.VoidType(), [bytes_at, number, number, number])
        fetch = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0i8")
        builder.call(fetch, [place, number(0), number(3), number(1)])  # to read, to keep, of data
        return context.get_dummy_value()

    return types.void(array, types.int64, types.int64), generate


@contextmanager
def when_compiling(tell: Callable[[], None]) -> Iterator[None]:
    """Call `tell` once, when the first kernel inside the block has to be compiled; it depends on no row."""

    class First(event.Listener):  # type: ignore[misc]
        told = False

        def on_start(self, event: Any) -> None:
            if not self.told:
                self.told = True
                tell()

        def on_end(self, event: Any) -> None:
            pass

    with event.install_listener("numba:compile", First()):
        yield
