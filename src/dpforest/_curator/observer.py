"""Standing beside the curator: how an auditor can see every question, table and answer of a fit.

Nobody watches a fit that promises anything. An observer is set by `watched_by` alone, which nothing in this
library but `dpforest.audit.replay` calls, and the curator refuses one unless its randomness is seeded, which
makes the model void. Without an observer a payment hands out the bare mechanism (`Payments._sell`).

An observer may also put its own answers and its own draw of rows to trees in the place of random ones: that
is what a replay is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from fractions import Fraction
from functools import wraps
from typing import Any, Concatenate, NamedTuple, ParamSpec, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from dpforest.mechanisms import RandomWords
from dpforest.privacy import Event, PrivacyError

P = ParamSpec("P")
Answer = TypeVar("Answer")


class Look(NamedTuple):
    """What one payment bought; public, and all that its price depends on.

    `strength` is the rate of the mechanism, or the parameter v of Gaussian noise. `moves` is how far one step
    (a row added or removed, a label changed) moves each of the `copies` tables that a row is counted in: by
    L1 norm under discrete Laplace noise, by squared L2 norm under discrete Gaussian noise, by the L1 norm of
    every one of the `blocks` (their widths) under block noise, and by the range W of scores in a choice.
    """

    event: Event
    strength: Fraction
    copies: int
    moves: int
    blocks: tuple[int, ...] = ()


class Observer(Protocol):
    """Who watches a fit."""

    def asked(self, question: str, args: tuple[Any, ...], named: Mapping[str, Any]) -> None:
        """See a question of a grower or an estimator; the arguments are public."""

    def answer(
        self, look: Look, run: Callable[..., NDArray[np.int64]], table: NDArray[Any], *public: NDArray[Any]
    ) -> NDArray[np.int64]:
        """Give the answer to a paid look: that of the mechanism, ``run(table, *public)``, or another."""

    def scatter(self, draw: Callable[[], NDArray[np.int64]]) -> NDArray[np.int64]:
        """Give the tree of every row: drawn by ``draw()``, or another."""

    def unpaid(self, *tables: NDArray[Any]) -> None:
        """See tables that are public under label privacy and hence free."""


_OBSERVER: ContextVar[Observer | None] = ContextVar("observer", default=None)


@contextmanager
def watched_by(observer: Observer) -> Iterator[None]:
    """Let an observer see the fits of this block; all of them need `random_state`."""
    token = _OBSERVER.set(observer)
    try:
        yield
    finally:
        _OBSERVER.reset(token)


def observer_of(words: RandomWords) -> Observer | None:
    """Return who watches the fit with these random words, or None; refuse if it could keep a promise."""
    observer = _OBSERVER.get()
    if observer is not None and not words.is_seeded:
        raise PrivacyError("Only a fit with random_state, which promises nothing, can be watched.")
    return observer


class Watched(Protocol):
    """What `question` needs of a curator."""

    _observer: Observer | None


C = TypeVar("C", bound=Watched)


def question(method: Callable[Concatenate[C, P], Answer]) -> Callable[Concatenate[C, P], Answer]:
    """Mark a method of the curator as a question, and show its (public) arguments to an observer, if any."""

    @wraps(method)
    def ask(curator: C, /, *args: P.args, **named: P.kwargs) -> Answer:
        if curator._observer is not None:
            curator._observer.asked(method.__name__, args, named)
        return method(curator, *args, **named)

    return ask
