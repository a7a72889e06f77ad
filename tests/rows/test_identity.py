"""What travels to a worker many times is one thing there, and blocks go on from what they remember."""

import pickle
import subprocess
import sys

import numpy as np

from dpforest._rows import Block, spark_rows
from dpforest._rows.scores import SplitNodes


def test_things_are_themselves_again_as_long_as_anybody_holds_them():
    sent = pickle.dumps([SplitNodes(np.arange(3), np.zeros(3, np.uint8), np.ones(3, np.uint8))] * 2)
    first, same = pickle.loads(sent)
    assert first is same
    assert pickle.loads(sent)[0] is first
    del first, same
    again = pickle.loads(sent)[0]
    assert again.column.tolist() == [0, 1, 2]
    code = "import pickle, sys; print(pickle.loads(sys.stdin.buffer.read())[0].column.tolist())"
    done = subprocess.run([sys.executable, "-c", code], input=sent, capture_output=True, check=True)
    assert done.stdout == b"[0, 1, 2]\n"


def test_an_executor_remembers_one_fit_at_a_time_and_no_more_than_its_limit():
    kept = spark_rows._Kept()

    def block(first, fit, n_bytes=100):
        remembered = kept.take(fit, first)
        found = Block(np.zeros((5, 1), np.uint8), np.zeros(5, np.int32), first, remembered)
        was_empty = not remembered
        remembered["left"] = (), np.zeros(n_bytes, np.uint8)
        kept.put(found, 250)
        return was_empty

    assert [block(first, "a") for first in (0, 5, 10)] == [True] * 3
    assert [block(first, "a") for first in (0, 5, 10)] == [False, False, True]  # no room for the third
    assert block(0, "b")  # another fit
    assert block(5, "a")
