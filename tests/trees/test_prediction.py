import numpy as np
import pytest

from dpforest._trees import sum_leaf_values
from tests.oracles import leaf_of, random_trees

N_CELLS = np.array([6, 4, 9], np.int32)


@pytest.mark.parametrize("n_rows", [0, 1, 63, 64, 200])
@pytest.mark.parametrize("n_threads", [1, 3])
def test_blocked_prediction_matches_a_plain_walk(n_rows, n_threads):
    rng = np.random.default_rng(n_rows)
    trees = random_trees(rng, 5, 4, N_CELLS, [False, True, False])
    cells = rng.integers(0, N_CELLS, (n_rows, 3)).astype(np.uint16)
    values = rng.normal(size=(5, 16, 2))
    expected = np.zeros((n_rows, 2))
    for row in range(n_rows):
        for tree in range(5):
            expected[row] += values[tree, leaf_of(trees, tree, cells[row], 4)]
    np.testing.assert_allclose(sum_leaf_values(trees, values, cells, n_threads), expected)


def test_a_tree_of_depth_zero_has_one_leaf():
    trees = random_trees(np.random.default_rng(0), 2, 0, N_CELLS, [False] * 3)
    out = sum_leaf_values(trees, np.ones((2, 1, 1)), np.zeros((3, 3), np.uint16))
    assert (out == 2).all()
