"""One fit under observation, and all that is seen of it from outside: messages, failure, release."""

from __future__ import annotations

import io
import logging
import pickle
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from typing import Any

from sklearn.base import clone

from dpforest._curator import Observer, watched_by
from dpforest.audit.replay.facts import Facts, facts_of


@dataclass
class Outside:
    """What everybody may see of a fit.

    Attributes
    ----------
    warnings, log : list of str
        Each warning and each line of the log, with its kind.
    printed : str
        Standard output and standard error.
    error : Exception or None
        Why the fit failed.
    released : dict
        Every attribute of the fitted model, see `facts_of`, and the size of its pickle.
    """

    warnings: list[str] = field(default_factory=list)
    log: list[str] = field(default_factory=list)
    printed: str = ""
    error: Exception | None = None
    released: Facts = field(default_factory=dict)


def watched_fit(estimator: Any, X: Any, y: Any, random_state: int, observer: Observer) -> Outside:
    """Fit a copy of an estimator while an observer watches.

    Parameters
    ----------
    estimator : estimator of this library
        Left as it is. The copy has no accountant: the tables are made up, nobody's privacy is spent.
    X, y : table
        Handed to `fit`.
    random_state : int
        The same for the first fit and its replays: it decides the public coins.
    observer : Observer
        Who watches.
    """
    model = clone(estimator).set_params(random_state=random_state, accountant=None)
    seen = Outside()
    with watched_by(observer), _caught(seen):
        try:
            model.fit(X, y)
        except Exception as error:
            seen.error = error
    if seen.error is None:
        seen.released = facts_of(model, "the fitted model")
        seen.released |= facts_of(len(pickle.dumps(model)), "the size of the pickle")
    return seen


@contextmanager
def _caught(seen: Outside) -> Iterator[None]:
    """Catch everything that is said."""
    stream = io.StringIO()
    handler = _Lines(seen.log)
    root = logging.getLogger()
    with redirect_stdout(stream), redirect_stderr(stream), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        root.addHandler(handler)
        try:
            yield
        finally:
            root.removeHandler(handler)
            seen.printed = stream.getvalue()
            seen.warnings = [f"{one.category.__name__}: {one.message}" for one in caught]


class _Lines(logging.Handler):
    """A log kept in a list."""

    def __init__(self, lines: list[str]) -> None:
        super().__init__(logging.NOTSET)
        self._lines = lines

    def emit(self, record: logging.LogRecord) -> None:
        """Keep one line."""
        self._lines.append(f"{record.name} {record.levelname}: {record.getMessage()}")
