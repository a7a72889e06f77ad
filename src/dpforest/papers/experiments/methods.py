"""The registry of methods: a name, and how to make an unfitted estimator of it.

`systems` registers what comes with the library. Users add their own with `register`; experiments name
methods, `jobs` makes and fits them. A method whose paper's own form also exists is registered twice, the
second time under its name with `AS_PUBLISHED` behind it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any, Protocol

from dpforest.schema import Schema

__all__ = ["AS_PUBLISHED", "Factory", "Method", "MethodNotAvailableError", "find", "names", "register"]

AS_PUBLISHED = " (as published)"


class MethodNotAvailableError(RuntimeError):
    """A method needs something that is not installed; the message says how to get it."""


class Factory(Protocol):
    """Makes an unfitted estimator; called with keywords only."""

    def __call__(
        self, *, task: str, schema: Schema, epsilon: float, seed: int, parameters: Mapping[str, Any]
    ) -> Any:
        """Return an object with `fit` and `predict`; take what it has from `parameters`, ignore the rest."""


@dataclass(frozen=True)
class Method:
    """A column of a table.

    Parameters
    ----------
    name : str
        Unique name.
    factory : Factory
        Makes the estimator. It may raise `MethodNotAvailableError`.
    about : str, default=""
        One line: what it is and whose.
    private : bool, default=True
        False for references without privacy, which run once instead of once per epsilon.
    semi_supervised : bool, default=False
        Whether `fit` takes rows without a label (None). Others get the labelled rows only.
    broken : str, default=""
        Key of `dpforest.papers.published.BROKEN_PROMISES`, if the paper's guarantee does not hold.
    broken_when : tuple of str, default=()
        Which of these promises belong to the options of this method, by their `when`.
    """

    name: str
    factory: Factory
    about: str = ""
    private: bool = True
    semi_supervised: bool = False
    broken: str = ""
    broken_when: tuple[str, ...] = ()

    def void_reasons(self, task: str) -> tuple[str, ...]:
        """Return what breaks the guarantee that was published for this method; empty if it holds.

        Parameters
        ----------
        task : {"classification", "regression"}
            Kind of target; some promises are broken in one of them only.

        Returns
        -------
        tuple of str
            A few words for each reason.

        Examples
        --------
        >>> find("SSPE-2").void_reasons("classification")
        ('label privacy',)
        """
        if not self.broken:
            return ()
        from dpforest.papers.published import BROKEN_PROMISES

        here = {"", task, *self.broken_when}
        return tuple(promise.what for promise in BROKEN_PROMISES[self.broken] if promise.when in here)


_METHODS: dict[str, Method] = {}


def register(name: str, factory: Factory, **facts: Any) -> Method:
    """Add a method, or replace the one of the same name.

    Parameters
    ----------
    name : str
        Unique name.
    factory : Factory
        Called as ``factory(task=..., schema=..., epsilon=..., seed=..., parameters=...)``.
    **facts
        Further fields of `Method`.

    Returns
    -------
    Method

    Examples
    --------
    >>> from dpforest import DiPriMeForestClassifier
    >>> def shallow(*, task, schema, epsilon, seed, parameters):
    ...     return DiPriMeForestClassifier(epsilon=epsilon, schema=schema, max_depth=2, random_state=seed)
    >>> register("shallow", shallow, about="two levels").name
    'shallow'
    """
    method = Method(name, factory, **facts)
    _METHODS[name] = method
    return method


def find(name: str) -> Method | None:
    """Return a method by name, None if there is no such method."""
    _load_systems()
    return _METHODS.get(name)


def names() -> tuple[str, ...]:
    """Return the names of all methods.

    Examples
    --------
    >>> {"RF", "SPE", "SPE (as published)"} <= set(names())
    True
    """
    _load_systems()
    return tuple(_METHODS)


@cache
def _load_systems() -> None:
    """Register what comes with the library, once and only when asked for; users' own methods win."""
    own = dict(_METHODS)
    import_module("dpforest.papers.experiments.systems")
    _METHODS.update(own)
