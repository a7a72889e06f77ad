"""Trees of rows by a secret key: exactly uniform, the same in every pass, known to nobody afterwards."""

import pickle

import numpy as np
import pytest
from scipy.stats import chisquare

import dpforest
from dpforest._curator import assignment
from dpforest._curator.assignment import KEYED_ROWS, KeyedTrees
from dpforest.mechanisms import RandomWords

KEY = bytes(range(32))


def test_a_pass_may_begin_anywhere():
    trees = KeyedTrees(7, KEY)
    whole = trees.of(0, 3 * KEYED_ROWS)
    for first, n in [(0, 1), (5, 10), (KEYED_ROWS - 1, 2), (KEYED_ROWS, KEYED_ROWS), (2, 2 * KEYED_ROWS)]:
        np.testing.assert_array_equal(trees.of(first, n), whole[first : first + n])
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(trees)).of(9, 9), whole[9:18])
    assert trees.of(4, 0).size == 0


@pytest.mark.parametrize("n_trees", [2, 3, 1000])
def test_trees_are_uniform_in_pairs_of_blocks_too(n_trees):
    """Chi-square over trees, and over pairs of rows of neighbouring blocks; false alarms below 1e-6 each.

    A block that forgot its number would have the trees of the block before.
    """
    drawn = KeyedTrees(n_trees, KEY).of(0, 2 * KEYED_ROWS).astype(int)
    assert chisquare(np.bincount(drawn, minlength=n_trees)).pvalue > 1e-6
    together = (drawn[:KEYED_ROWS] == drawn[KEYED_ROWS:]).sum()
    expected = KEYED_ROWS / n_trees
    assert chisquare([together, KEYED_ROWS - together], [expected, KEYED_ROWS - expected]).pvalue > 1e-6


def test_other_keys_draw_other_trees():
    few = [tuple(KeyedTrees(1000, bytes([first]) * 32).of(0, 8)) for first in range(50)]
    assert len(set(few)) == 50
    with pytest.raises(ValueError, match="32 bytes"):
        KeyedTrees(3, b"short").of(0, 1)


def test_every_fit_has_a_key_of_its_own_which_is_in_no_model(monkeypatch):
    """Also with random_state, whose model is void: another seed is another key, and neither is kept."""
    keys = []

    def draw(n_trees, words):
        keys.append(words.take(4).tobytes())
        return KeyedTrees(n_trees, keys[-1])

    monkeypatch.setattr(KeyedTrees, "draw", draw)
    X, y = np.linspace(0, 1, 40)[:, None], np.arange(40) % 2
    model = dpforest.DiPriMeForestClassifier(3, bounds=(0, 1), classes=[0, 1], max_depth=2)
    for _ in range(3):
        kept = pickle.dumps(model.fit(X, y))
        assert keys[-1] not in kept
        assert keys[-1].hex() not in f"{kept!r}"
    assert len(set(keys)) == 3
    assert KEY.hex() not in repr(KeyedTrees(3, KEY))
    assert str(KEY) not in repr(KeyedTrees(3, KEY))


def test_the_key_is_apart_from_the_noise():
    """The tape of the key is a fork of its own: its words are none of those that the noise reads."""
    words = RandomWords.seeded(5)
    noise, trees = words.fork("noise"), words.fork("assignment")
    key = KeyedTrees.draw(3, trees).key
    assert key not in noise.take(1000).tobytes()
    assert assignment.KEYED_ROWS == 2**15  # another size would draw other trees under the same tape
