"""Docstrings as the running code has them: those of estimators are completed with their parameters."""

from __future__ import annotations

import inspect
from importlib import import_module
from typing import Any

from griffe import Class, Docstring, Extension


class RuntimeDocstrings(Extension):
    """Replaces what stands in the source by what `help` shows."""

    def on_class(self, *, cls: Class, **_: Any) -> None:
        if cls.docstring is None or "{parameters}" not in cls.docstring.value or cls.parent is None:
            return
        found = getattr(import_module(cls.parent.path), cls.name)
        cls.docstring = Docstring(inspect.getdoc(found) or "", lineno=cls.docstring.lineno, parent=cls)
