"""Compiled scores of cuts by the lengths of summed gradients. Integers in, exact integers out."""

from __future__ import annotations

import math

import numpy as np

from dpforest._jit import inlined, kernel


@inlined
def length(vector):
    """Floor of the Euclidean length of a vector of integers, exactly.

    The square may need 106 bits. A double gives a root r that is off by at most (m + 3) / 2 for m numbers and
    a length up to 2**52 (relative errors of 2**-53: one for each square and sum, half of that in the root),
    so the true square S differs from r**2 by less than (m + 4) * 2**52, below 2**63 for up to 1000 numbers.
    Both are known modulo 2**64 from arithmetic that wraps around, hence so is their difference, which fits
    in 64 bits and is therefore known exactly; whole steps then lead to the floor.
    """
    if vector.size == 1:
        return abs(vector[0])
    about, wrapped = 0.0, np.uint64(0)
    for k in range(vector.size):
        about += np.float64(vector[k]) * np.float64(vector[k])
        wrapped += np.uint64(vector[k]) * np.uint64(vector[k])
    root = np.int64(math.sqrt(about))
    rest = np.int64(wrapped - np.uint64(root) * np.uint64(root))
    while rest < 0:
        root -= 1
        rest += 2 * root + 1
    while rest > 2 * root:
        rest -= 2 * root + 1
        root += 1
    return root


@kernel
def lengths(vectors, out):
    """Floors of the lengths of some vectors; for tests."""
    for row in range(vectors.shape[0]):
        out[row] = length(vectors[row])


@kernel
def cut_scores(table, by_code, n_codes, out):
    """Sum of the lengths of both children's gradients for every cut of some columns.

    `table` has shape (column, node, code, output), `out` (node, column, code). Cut c of a column sends the
    codes up to c to the left, or code c alone if it is cut by codes. Whatever is no cut keeps its score of 0.
    """
    n_outputs = table.shape[3]
    left, right = np.zeros(n_outputs, np.int64), np.zeros(n_outputs, np.int64)
    total = np.zeros(n_outputs, np.int64)
    for node in range(table.shape[1]):
        for column in range(table.shape[0]):
            total[:] = 0
            for code in range(n_codes[column]):
                for k in range(n_outputs):
                    total[k] += table[column, node, code, k]
            left[:] = 0
            last = n_codes[column] if by_code[column] else n_codes[column] - 1
            for code in range(last):
                for k in range(n_outputs):
                    if by_code[column]:
                        left[k] = table[column, node, code, k]
                    else:
                        left[k] += table[column, node, code, k]
                    right[k] = total[k] - left[k]
                out[node, column, code] = length(left) + length(right)
