"""Planted leaks that show in no ordinary number: NaN, exact values, types, shapes, failures, warnings.

Every audit runs at alpha = 1e-6, and those that must find nothing are of mechanisms that keep their promise.
"""

import math
import warnings
from fractions import Fraction

import numpy as np
import pytest

from dpforest.audit import CannotAuditError, audit, audit_samples
from dpforest.audit.readings import read
from dpforest.schema import Classes, Numeric, Schema

EMPTY = (np.zeros((0, 1)), np.zeros(0)), (np.ones((1, 1)), np.ones(1))  # no row, and one row
FEW = (np.full((4, 1), 0.5), np.zeros(4)), (np.full((5, 1), 0.5), np.zeros(5))
SCHEMA = Schema({"age": Numeric(0, 1)}, Classes([0, 1]))


def found(subject, pair=EMPTY, runs=400, **options):
    return audit(subject, pair, runs=runs, claim=1.0, progress=False, **options)


# --- three leaks with NaN --------------------------------------------------------------------------------


class NaNWithoutRows:
    """Answers NaN on the smaller table and 1.0 on the larger."""

    def fit(self, X, y):
        self.answer_ = 1.0 if len(X) else math.nan

    def predict(self, X):
        return np.full(len(X), self.answer_)


def exact_mean(X, y):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # numpy warns of the mean of nothing
        return np.mean(y)


def nan_share(X, y, random_state):
    """Noise in every entry, but the number of missing ones gives the number of rows away."""
    rng = np.random.default_rng(random_state)
    answer = rng.laplace(size=20)
    answer[rng.permutation(20)[: len(X)]] = math.nan
    return answer


def nan_chance(X, y, random_state):
    """No answer with a probability that depends on the rows."""
    return math.nan if np.random.default_rng(random_state).random() < (0.9 if len(X) else 0.05) else 0.0


@pytest.mark.parametrize(
    ("subject", "pair", "told_by"),
    [
        (NaNWithoutRows(), EMPTY, "is NaN"),
        (exact_mean, EMPTY, "is NaN"),
        (nan_share, FEW, "NaN entries of output"),
        (nan_chance, EMPTY, "is NaN"),
    ],
)
def test_a_leak_by_nan_is_found(subject, pair, told_by):
    seed = None if subject in (exact_mean,) or isinstance(subject, NaNWithoutRows) else 0
    result = found(subject, pair, random_state=seed)
    assert result.violation, str(result)
    assert told_by in result.event


def test_nan_in_samples_drawn_elsewhere():
    rng = np.random.default_rng(0)
    first, second = rng.laplace(size=(2, 500, 3))
    second[:, 1] = math.nan
    result = audit_samples(first, second, claim=1.0)
    assert result.violation
    assert result.event == "output 1 is NaN"
    same = rng.laplace(size=(2, 500, 3))
    same[:, ::2] = math.nan  # as often with either table
    assert not audit_samples(*same, claim=1.0).violation


# --- exact values ----------------------------------------------------------------------------------------


def test_an_exact_value_among_noise_is_found():
    """Once in three times the noise is forgotten; no threshold tells, the very value does."""

    def forgetful(X, y, random_state):
        rng = np.random.default_rng(random_state)
        return y.mean() + (rng.laplace(scale=50) if rng.random() < 0.67 else 0.0)

    pair = (FEW[0][0], np.array([0.1, 0.2, 0.3, 0.4])), (FEW[1][0], np.array([0.1, 0.2, 0.3, 0.4, 0.5]))
    result = found(forgetful, pair, runs=1000, random_state=0)
    assert result.violation, str(result)
    assert "= 0.25" in result.event or "= 0.3" in result.event


def test_a_set_of_values_that_repeat_is_found():
    """Noise of few bits on a grid that the rows shift: single values are rare, all together certain."""
    rng = np.random.default_rng(0)
    first, second = rng.integers(-200, 200, (2, 2000)) / 8 + [[0.0], [0.01]]
    result = audit_samples(first, second, claim=1.0)
    assert result.violation, str(result)
    assert "values that repeat" in result.event


def test_values_that_single_precision_cannot_tell_apart():
    rng = np.random.default_rng(0)
    noise = rng.integers(0, 2, (2, 600))
    first, second = 1e300 * noise[0], 1e300 * noise[1] + 1e284 * (noise[1] == 1)
    assert audit_samples(
        np.column_stack([first, noise[0]]), np.column_stack([second, noise[1]]), 0.5
    ).violation


# --- infinities, texts, types, shapes --------------------------------------------------------------------

ODD = {
    "infinite": (math.inf, 0.0),
    "minus infinite": (-math.inf, math.inf),
    "None": (None, 0.0),
    "text": ("died", "home"),
    "bytes": (b"1", b"2"),
    "text or number": ("1", 1.0),
    "type": (1, 1.0),
    "shape": (np.zeros(3), np.zeros(4)),
    "number of dimensions": (np.zeros((2, 2)), np.zeros(4)),
    "array type": (np.zeros(3, np.int64), np.zeros(3)),
    "list or tuple": ([1, 2], (1, 2)),
    "ragged": ([[1], [1, 2]], [[1, 2], [1]]),
    "key": ({"a": 1}, {"b": 1}),
    "nested": ({"a": {"b": [1, None]}}, {"a": {"b": [1, 2]}}),
    "set": ({"a", "b"}, {"a", "c"}),
    "large integers": (2**60, 2**60 + 1),
    "huge integers": (10**400, 10**400 + 1),
    "fractions": (Fraction(1, 3), Fraction(1, 2)),
    "complex": (1 + 1j, 1 - 1j),
    "long texts": ("x" * 1000 + "a", "x" * 1000 + "b"),
    "objects": (object(), Ellipsis),
}


@pytest.mark.parametrize("name", ODD)
def test_whatever_differs_is_seen(name):
    outputs = ODD[name]
    result = found(lambda X, y: outputs[len(X)], runs=200)
    assert result.violation, str(result)
    assert not found(lambda X, y: outputs[0], runs=200).violation


def test_an_attribute_that_is_odd_on_one_table_is_seen():
    class Model:
        def fit(self, X, y):
            self.inner_ = {"trees": [{"count": len(X)}]}
            self.note_ = None if len(X) else "no rows"
            return self

        def predict(self, X):
            return np.zeros(len(X))

    assert found(Model(), runs=200).violation


def test_a_question_that_fails_on_one_table_is_seen():
    class Model:
        def fit(self, X, y):
            self.predict = (lambda X: 1 / 0) if len(X) else (lambda X: np.zeros(len(X)))

    result = found(Model(), runs=200)
    assert result.violation
    assert "predict" in result.event


def test_texts_that_never_repeat_are_no_news():
    def unique(X, y, random_state):
        return f"model {random_state}"

    assert not found(unique, random_state=0).violation


def test_a_model_is_read_to_a_limited_depth_and_length():
    class Node:
        pass

    node = Node()
    node.me, node.values = node, list(range(10**5))
    assert len(read("node", node)) <= 401


# --- failures and warnings -------------------------------------------------------------------------------


def noisy_count(X, y, random_state):
    return len(X) + np.random.default_rng(random_state).laplace()


def test_a_failure_on_one_table_is_a_finding():
    def needs_rows(X, y, random_state):
        if not len(X):
            raise ValueError("no rows")
        return noisy_count(X, y, random_state)

    result = audit(needs_rows, schema=SCHEMA, runs=600, claim=1.0, random_state=0, progress=False)
    assert result.violation
    assert result.event == "fit fails (ValueError)"
    assert "no row" in result.pair


def test_a_failure_hides_no_other_flaw():
    """The count itself is released, which shows on tables that the fit takes."""

    def needs_rows_and_tells(X, y):
        if not len(X):
            raise ValueError("no rows")
        return len(X)

    result = audit(needs_rows_and_tells, schema=SCHEMA, runs=600, claim=1.0, progress=False)
    assert result.violation
    assert result.event.startswith("output")
    assert 'besides, "fit fails (ValueError)" tells apart: no row' in result.note


def test_pairs_on_which_every_fit_fails_are_left_out():
    """One row fails like none; the pairs with eight rows and more still tell."""

    def needs_many(X, y):
        if len(X) < 5:
            raise ValueError("too few rows")
        return len(X)

    result = audit(needs_many, schema=SCHEMA, runs=600, claim=1.0, progress=False)
    assert result.violation
    assert "1 pairs were left out" in result.note


def test_another_kind_of_failure_is_a_finding():
    def picky(X, y):
        raise ValueError("none") if not len(X) else TypeError("some")

    result = found(picky)
    assert result.violation
    assert "fit fails (ValueError)" in result.event


def test_the_same_failure_on_both_tables_cannot_be_audited():
    def broken(X, y):
        raise ValueError(f"found {len(X)} rows")

    with pytest.raises(CannotAuditError, match=r"fails \(ValueError\): 'found 0 rows'. Give tables that"):
        found(broken)


def test_a_failure_that_comes_sometimes_is_an_outcome():
    def shaky(X, y, random_state):
        if np.random.default_rng(random_state).random() < (0.9 if len(X) else 0.1):
            raise ZeroDivisionError
        return 0.0

    result = found(shaky, random_state=0, runs=1000)
    assert result.violation
    assert "fit fails (ZeroDivisionError)" in result.event


def test_a_warning_on_one_table_is_a_finding_and_hides_no_other_flaw():
    def warns(X, y, random_state):
        if not len(X):
            warnings.warn("the mean of nothing", RuntimeWarning, stacklevel=1)
        return noisy_count(X, y, random_state)

    result = found(warns, random_state=0)
    assert result.violation
    assert "the mean of nothing" in result.event

    def warns_and_tells(X, y, random_state):
        warns(X, y, random_state)
        return len(X)

    result = found(warns_and_tells, random_state=0)
    assert result.violation
    assert result.event.startswith("output")
    assert "the mean of nothing" in result.note


def test_a_warning_with_both_tables_is_no_finding():
    def warns(X, y, random_state):
        warnings.warn("always", UserWarning, stacklevel=1)
        return noisy_count(X, y, random_state)

    assert not found(warns, random_state=0).violation


def test_a_failing_observer_is_said():
    with pytest.raises(CannotAuditError, match=r"the observer fails \(KeyError\)"):
        found(lambda X, y: {"a": 1}, observe=lambda output, probes: output["b"])


def test_few_runs_say_how_many_suffice():
    result = audit(lambda X, y: len(X), EMPTY, claim=6.0, runs=100, progress=False)
    assert not result.violation
    enough = int(result.note.split("; ")[1].split()[0].replace(",", ""))
    assert audit(lambda X, y: len(X), EMPTY, claim=6.0, runs=enough, progress=False).violation
