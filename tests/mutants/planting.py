"""Plant a slip in the real code: the text of one function or one module, changed in one place."""

from __future__ import annotations
import __future__

import functools
import importlib
import importlib.util
import inspect
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import numba
import pytest

Plant = Callable[[pytest.MonkeyPatch], None]


def slip(place: str, *changes: tuple[str, str]) -> Plant:
    """Change the text of a function, such as "dpforest._curator.queries:Curator._copies".

    Each old text occurs once. Modules that imported the function by name get the changed one too.
    """
    module_name, _, qualified = place.partition(":")

    def plant(patch: pytest.MonkeyPatch) -> None:
        module = importlib.import_module(module_name)
        *owners, name = qualified.split(".")
        owner = functools.reduce(getattr, owners, module)
        found = inspect.getattr_static(owner, name)
        function = getattr(found, "fget", None) or getattr(found, "__func__", found)
        text = _changed(textwrap.dedent(inspect.getsource(inspect.unwrap(function))), changes, place)
        code = compile(text, f"<{place}>", "exec", flags=__future__.annotations.compiler_flag)
        made: dict[str, object] = {}
        exec(code, vars(module), made)
        patch.setattr(owner, name, made[name])
        for other in [m for n, m in sys.modules.items() if n.startswith(("dpforest", "tests"))]:
            if vars(other).get(name) is found:
                patch.setattr(other, name, made[name])

    return plant


def kernel_slip(room: str, *changes: tuple[str, str]) -> Plant:
    """Change the text of a room's compiled kernels; they then run as plain Python, so keep the work small."""

    def plant(patch: pytest.MonkeyPatch) -> None:
        kernels = importlib.import_module(f"dpforest.{room}._kernels")
        text = _changed(Path(str(kernels.__file__)).read_text(), changes, room)
        spec = importlib.util.spec_from_loader(f"changed_{room}_kernels", loader=None)
        changed = importlib.util.module_from_spec(spec)
        with pytest.MonkeyPatch.context() as plainly:
            plainly.setattr(numba.config, "DISABLE_JIT", True)
            exec(compile(text, f"<{room}>", "exec"), vars(changed))
        patch.setattr(importlib.import_module(f"dpforest.{room}"), "_kernels", changed)

    return plant


def constant(place: str, value: object) -> Plant:
    """Set a name of a module to something else."""
    module_name, _, name = place.partition(":")
    return lambda patch: patch.setattr(importlib.import_module(module_name), name, value)


def _changed(text: str, changes: tuple[tuple[str, str], ...], place: str) -> str:
    for old, new in changes:
        assert text.count(old) == 1, f"{place} has {text.count(old)} times: {old}"
        text = text.replace(old, new)
    return text
