"""What is audited, run once: a fresh model for every run, and everything that the run lets out.

`running` does this many times. Estimators of this and other libraries, classes with `fit` that know nothing
of scikit-learn, factories and functions are all run as they are. That a fit fails, and what it warns of, can
tell two tables apart as any output can, and is read like one.
"""

from __future__ import annotations

import inspect
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import copy, deepcopy
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpforest.audit.observe import Observer, named
from dpforest.audit.pairs import NeighbourPair
from dpforest.audit.readings import Observation, Phrase, Reading, read
from dpforest.forests.base import PrivateForest
from dpforest.privacy import nobody_pays

FIT, OBSERVER, WARNINGS = "fit", "the observer", "the warnings"
SEED = "random_state"
SAID = (FIT, OBSERVER, WARNINGS)  # readings besides the output
QUIET = 0.0  # where there is nothing to say
MESSAGES = frozenset({f"message of {FIT}", f"message of {OBSERVER}"})  # for people; failures are told by kind


class CannotAuditError(RuntimeError):
    """Nothing can be learned about this subject as it was given; the message says what to change."""


@dataclass(frozen=True)
class Subject:
    """What is audited, and what is seen of its output.

    Parameters
    ----------
    subject : estimator, class, factory or function
        With `fit(X, y)`; or a class of such objects, or a function without arguments that makes one; or a
        function that is called with (X, y) and, if it has such a parameter, `random_state`.
    observer : callable
        Called with the output and the probes.
    random_state : int or None
        None leaves the randomness alone.
    """

    subject: Any
    observer: Observer
    random_state: int | None = None

    def __post_init__(self) -> None:
        if not hasattr(self.subject, "fit") and not callable(self.subject):
            raise CannotAuditError(
                f"{type(self.subject).__name__} cannot be audited: give an object with fit(X, y), a class of "
                "such objects, or a function of (X, y) that returns what would be released."
            )
        if self.random_state is not None and not self._takes_seed:
            raise ValueError(
                "random_state was given, but what is audited takes no random_state; add such a parameter "
                "or leave random_state=None."
            )

    def __getstate__(self) -> dict[str, Any]:
        """Workers get what was given, not what was made of it here, which they may not be able to read."""
        return {name: getattr(self, name) for name in ("subject", "observer", "random_state")}

    @cached_property
    def example(self) -> Any:
        """A model that is never fitted, or the function itself: whoever promises something."""
        if not self._is_factory:
            return self.subject
        try:
            return self.subject()
        except Exception as error:
            raise CannotAuditError(
                f"Cannot be audited: making one failed with {_words(error)}. Give an instance, or a function "
                "without arguments that makes one."
            ) from error

    def run(self, pair: NeighbourPair, which: int, stream: int, number: int) -> Observation:
        """Run once on the first (0) or second (1) table, and observe."""
        table = (pair.first, pair.second)[which]
        seen: dict[str, Reading] = dict.fromkeys(SAID, QUIET)
        with warnings.catch_warnings(record=True) as heard:
            warnings.simplefilter("always")
            output = _attempt(FIT, seen, lambda: self._run(table.X, table.y, stream, which, number))
            if seen[FIT] == QUIET:
                observed = _attempt(OBSERVER, seen, lambda: named(self.observer(output, pair.probes)))
                seen |= observed or {}
        if heard:
            texts = sorted({f"{warning.category.__name__}: {warning.message}" for warning in heard})
            seen |= read(WARNINGS, "; ".join(texts))
        return seen

    def output(self, X: NDArray[Any], y: NDArray[Any], stream: int, which: int, number: int) -> Any:
        """Run once on any table; the numbers make up the seed.

        Seeds and derived domains are warned about at every fit; here they are meant.
        """
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return self._run(X, y, stream, which, number)

    def _run(self, X: NDArray[Any], y: NDArray[Any], stream: int, which: int, number: int) -> Any:
        seed = self._seed(stream, which, number)
        with nobody_pays(), _no_foreign_budget():  # the tables are made up: nobody's privacy is spent
            if not hasattr(self.example, "fit"):
                seeded = {SEED: seed} if self._takes_seed else {}
                return self.subject(*(X, y)[: self._n_arguments], **seeded)
            model = self._fresh()
            if seed is not None:
                setattr(model, SEED, seed)
            fitted = model.fit(*(X, y)[: self._n_arguments])
            return model if fitted is None else fitted

    def _fresh(self) -> Any:
        """Return a model that no run has touched."""
        if self._is_factory:
            return _unpaid(self.subject())
        if isinstance(self._unfitted, PrivateForest):
            return copy(self._unfitted)  # fit replaces attributes and changes none in place
        return deepcopy(self._unfitted)

    @cached_property
    def _unfitted(self) -> Any:
        from sklearn.base import clone

        try:
            model = clone(self.subject)
        except Exception:  # not of scikit-learn's kind
            try:
                model = deepcopy(self.subject)
            except Exception as error:
                raise CannotAuditError(
                    f"Cannot be audited: no fresh copy of {type(self.subject).__name__} can be made "
                    f"({_words(error)}). Give a function without arguments that makes one."
                ) from error
        return _unpaid(model)

    @cached_property
    def _is_factory(self) -> bool:
        if isinstance(self.subject, type):
            return hasattr(self.subject, "fit")
        return not hasattr(self.subject, "fit") and _takes(self.subject, 0) and not _takes(self.subject, 1)

    @cached_property
    def _n_arguments(self) -> int:
        """Two, or one for what learns without a target."""
        function = getattr(self.example, "fit", self.subject)
        return 1 if _takes(function, 1) and not _takes(function, 2) else 2

    @cached_property
    def _takes_seed(self) -> bool:
        if not hasattr(self.example, "fit"):
            return _has_parameter(self.subject, SEED)
        if hasattr(self.example, "get_params"):
            return SEED in self.example.get_params(deep=False)
        return hasattr(self.example, SEED)

    def _seed(self, stream: int, which: int, number: int) -> int | None:
        if self.random_state is None:
            return None
        drawn = np.random.SeedSequence(self.random_state, spawn_key=(stream, which, number))
        return int(drawn.generate_state(1)[0] >> 1)  # some libraries want it below 2**31


def _attempt(what: str, seen: dict[str, Reading], action: Callable[[], Any]) -> Any:
    """Do something, and note how it failed if it does."""
    try:
        return action()
    except CannotAuditError:
        raise
    except (Exception, SystemExit) as error:
        seen[what] = Phrase(f"fails ({type(error).__name__})")
        seen |= read(f"message of {what}", str(error))


def _has_parameter(function: Any, name: str) -> bool:
    try:
        return name in inspect.signature(function).parameters
    except (TypeError, ValueError):
        return False


def _takes(function: Any, number: int) -> bool:
    """Tell whether something can be called with so many arguments, and perhaps a seed."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # some built-in functions do not say
        return number == 2
    if any(p.kind is p.VAR_POSITIONAL for p in parameters):
        return True
    places = [
        p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) and p.name != SEED
    ]
    return sum(p.default is p.empty for p in places) <= number <= len(places)


def _unpaid(model: Any) -> Any:
    """Take a model's own accountant away."""
    accountant = getattr(model, "accountant", None)
    if isinstance(model, PrivateForest) and accountant is not None:
        model.set_params(accountant=None)
    elif accountant is not None and type(accountant).__module__.startswith("diffprivlib"):
        model.accountant = type(accountant)()  # without a ceiling; None is not allowed there
    return model


@contextmanager
def _no_foreign_budget() -> Iterator[None]:
    """Keep fits of diffprivlib off the accountant that it uses by default, if it is loaded at all."""
    accountant = getattr(sys.modules.get("diffprivlib"), "BudgetAccountant", None)
    if accountant is None:
        yield
        return
    with accountant():
        yield


def _words(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"
