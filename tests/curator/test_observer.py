"""Who may watch a fit, and what can run a mechanism at all."""

import ast
import threading
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import dpforest._curator
from dpforest._curator import Curator, EstimateQueries, PrivateTable, SumQueries, watched_by
from dpforest._curator.payment import Payments
from dpforest._structure import FlatTrees
from dpforest.mechanisms import RandomWords
from dpforest.privacy import BudgetPlan, PrivacyError
from tests.curator.conftest import CLASSES, rows_of

RECORDS = [(0.1, "a", 0), (0.6, "b", 1), (0.9, "c", 2)]
SOURCE = Path(dpforest._curator.__file__).parent
SAMPLERS = {"exponential", "permute_and_flip", "discrete_laplace", "discrete_gaussian", "block_norm", "Rate"}
SAMPLERS |= {"perturbed_minimum", "rounded_minimum", "nested_exponential", "named_exponential"}


class Scribe:
    """Writes down everything; answers with a fixed number, if it has one."""

    def __init__(self, fixed=None):
        self.fixed, self.questions, self.tables, self.looks, self.trees = fixed, [], [], [], []

    def asked(self, question, args, named):
        self.questions.append(question)

    def answer(self, look, run, table, *public):
        self.tables.append(np.array(table))
        self.looks.append(look)
        answer = run(table, *public)
        return answer if self.fixed is None else np.full_like(answer, self.fixed)

    def scatter(self, draw):
        self.trees.append(draw())
        return np.zeros_like(self.trees[-1])


def curator_with(words):
    plan = BudgetPlan.divide(1, 0, {"everything": 1})
    return Curator(PrivateTable(*rows_of(RECORDS), CLASSES), plan, words)


def test_a_fit_that_could_promise_something_cannot_be_watched():
    scribe = Scribe()
    with watched_by(scribe), pytest.raises(PrivacyError, match="random_state"):
        curator_with(RandomWords.system())
    with curator_with(RandomWords.seeded(0)) as curator:  # nobody watches any more
        curator.row_count("everything")
    assert scribe.questions == []


def test_no_other_thread_is_watched():
    scribe = Scribe()

    def elsewhere():
        with curator_with(RandomWords.system()) as curator:
            curator.row_count("everything")

    with watched_by(scribe):
        thread = threading.Thread(target=elsewhere)
        thread.start()
        thread.join()
    assert scribe.questions == []


def test_unwatched_payments_hand_out_the_bare_mechanism():
    plan = BudgetPlan.divide(1, 0, {"everything": 1})
    bare = Payments(plan, RandomWords.seeded(0), None, False)
    assert bare._sell(None, abs) is abs


def test_an_observer_sees_the_exact_table_and_may_replace_the_answer():
    scribe = Scribe(fixed=7)
    trees = FlatTrees.unsplit(2, 0)
    with watched_by(scribe), curator_with(RandomWords.seeded(0)) as curator:
        half = Fraction(1, 2)
        assert curator.row_count("everything", half) == 7
        curator.scatter_rows(2)
        assert (curator.leaf_histograms("everything", trees, share=half).values == 7).all()
    assert scribe.questions == ["row_count", "scatter_rows", "leaf_histograms"]
    assert [table.tolist() for table in scribe.tables] == [[3], [[[1, 1, 1]], [[0, 0, 0]]]]
    assert scribe.looks[1].event == curator.ledger.events[1]
    assert scribe.looks[1][1:] == (Fraction(1, 2), 1, 1, ())


def test_the_draw_of_trees_is_the_same_with_and_without_an_observer():
    """What is replayed is the real draw, not one made for the auditor."""

    class Honest(Scribe):
        def scatter(self, draw):
            return draw()

    def sizes():
        with curator_with(RandomWords.seeded(0)) as curator:
            curator.scatter_rows(50)
            return curator._leaf_counts(FlatTrees.unsplit(50, 0))

    with watched_by(Honest()):
        watched = sizes()
    np.testing.assert_array_equal(watched, sizes())


def test_every_question_is_shown_to_an_observer():
    free = {"ledger"}
    for owner in (Curator, SumQueries, EstimateQueries):
        methods = {name: method for name, method in vars(owner).items() if not name.startswith("_")}
        for name in set(methods) - free:
            assert hasattr(methods[name], "__wrapped__"), f"{name} is not marked as a question"


def test_mechanisms_run_in_one_file_only():
    for path in SOURCE.glob("*.py"):
        if path.name == "payment.py":
            continue
        tree = ast.parse(path.read_text())
        names = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
        names |= {a.name for n in ast.walk(tree) if isinstance(n, ast.ImportFrom) for a in n.names}
        assert not names & SAMPLERS, f"{path.name} runs a mechanism by itself"
