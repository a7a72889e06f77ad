"""What a payment returns: the mechanism at the strength that was paid for, and nothing to turn it up with."""

from fractions import Fraction

import numpy as np
import pytest

from dpforest._curator import EXPONENTIAL, NESTED, PERMUTE_AND_FLIP
from dpforest._curator.payment import NO_CANDIDATE, Payments
from dpforest._structure import FlatTrees
from dpforest.mechanisms import RandomWords
from dpforest.privacy import BudgetExceededError, BudgetPlan, NeighboringRelation, PrivacyError
from tests.curator.conftest import CLASSES
from tests.curator.test_queries import label_private

WHOLE = Fraction(1)


def payments(epsilon=10**6, relation=NeighboringRelation.ADD_OR_REMOVE_ONE):
    plan = BudgetPlan.divide(epsilon, 0, {"pool": 1}, relation=relation)
    return Payments(plan, RandomWords.seeded(0), None, False)


def test_a_row_without_candidates_gets_none_and_disturbs_no_other():
    choose = payments().for_choice("pool", WHOLE, "test", 1, 1, EXPONENTIAL)
    scores = np.array([[5, 9, 0], [1, 2, 3], [7, 0, 0], [0, 0, 8]])
    base = np.array([[1, 0, 1], [0, 0, 0], [0, 1, 1], [0, 0, 1]])
    chosen = choose(scores, base)
    assert chosen[[0, 1, 3]].tolist() == [0, NO_CANDIDATE, 2]
    assert chosen[2] in (1, 2)
    assert choose(scores, np.zeros_like(base)).tolist() == [NO_CANDIDATE] * 4
    assert choose(np.empty((2, 0), int), np.empty((2, 0), int)).tolist() == [NO_CANDIDATE] * 2
    assert choose(np.empty((0, 3), int)).size == 0


@pytest.mark.parametrize("mechanism", [EXPONENTIAL, PERMUTE_AND_FLIP])
def test_without_weights_all_are_candidates(mechanism):
    choose = payments().for_choice("pool", WHOLE, "test", 1, 1, mechanism)
    assert choose(np.array([[0, 0, 9], [9, 0, 0]])).tolist() == [2, 0]


def test_what_cannot_be_paid_returns_nothing_to_run():
    broke = payments()
    broke.for_noise("pool", WHOLE, "all there is", 1, 1, 1)
    for pay in (
        lambda: broke.for_noise("pool", WHOLE, "more", 1, 1, 1),
        lambda: broke.for_choice("pool", WHOLE, "more", 1, 1, EXPONENTIAL),
        lambda: broke.for_sums("pool", WHOLE, "more", [1], 1),
    ):
        with pytest.raises(BudgetExceededError):
            pay()


def test_only_public_scores_are_chosen_from_for_free():
    with pytest.raises(PrivacyError, match="private here"):
        payments().free_choice(RandomWords.seeded(0))
    best = payments(relation=NeighboringRelation.LABEL_CHANGE).free_choice(RandomWords.seeded(0))
    assert (best(np.tile([3, 4, 3], (100, 1))) == 1).all()
    ties = best(np.tile([4, 4, 3], (100, 1)))
    assert set(ties) == {0, 1}


def test_public_medians_take_nothing_from_the_tape_of_the_noise():
    """Else the noise of later looks would depend on how often public tables were asked for."""
    records = [(0.1, "a", 0), (0.6, "b", 1), (0.9, "c", 2)] * 4

    def noisy(with_medians):
        with label_private(records, CLASSES) as curator:
            if with_medians:
                trees = FlatTrees.unsplit(3, 1, curator.subsets.left_sets)
                curator.public_medians(trees, 0, np.zeros((3, 1), np.int32))
            return curator.leaf_histograms("everything", FlatTrees.unsplit(3, 0)).values

    np.testing.assert_array_equal(noisy(True), noisy(False))


def test_a_nested_choice_that_is_too_faint_is_refused_before_the_charge():
    payer = payments(epsilon=1)
    with pytest.raises(ValueError, match="nested"):
        payer.for_choice("pool", Fraction(1, 2**14), "test", 1, 1, NESTED)
    assert len(payer.ledger) == 0
