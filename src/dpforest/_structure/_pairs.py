"""Compiled codes of pair columns. Plain arrays in, plain arrays out."""

from __future__ import annotations

import numpy as np

from dpforest._jit import kernel

BLOCK = 1024


@kernel
def codes(cells, scales, columns, cuts, out):
    """Put the number of cuts below each weighted sum into ``out[pair, row]``."""
    n_rows, n_cuts = cells.shape[0], cuts.size
    for block in range(0, n_rows, BLOCK):
        for pair in range(columns.shape[0]):
            first, second = columns[pair, 0], columns[pair, 1]
            one, other = np.int64(columns[pair, 2]), np.int64(columns[pair, 3])
            for i in range(block, min(block + BLOCK, n_rows)):
                place = one * scales[first, cells[i, first]] + other * scales[second, cells[i, second]]
                code = 0
                for cut in range(n_cuts):
                    code += place > cuts[cut]
                out[pair, i] = code
