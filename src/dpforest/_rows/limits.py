"""The largest table, and why no whole number that is counted or scored leaves 64 bits.

One constant, `MAX_ROWS`, bounds the rows (N below). Everything else that a number can depend on is declared
and public: G, the levels of a numeric target, and K, its classes, are at most 2**16 (`MAX_SIZE` in
`schema.declaration`), and what a row adds to a released sum is at most `MAX_PER_ROW`. With N = 2**40 every
number that is counted, and every step on the way to a score, stays below 2**63:

============================================ ===================== =========================================
number                                       at most               why
============================================ ===================== =========================================
rows of a cell, leaf, class, tree            N = 2**40             a row is counted once in a table of a tree
summed targets y, and G n - sum of y         N G = 2**56           0 <= y <= G
summed squares of y                          N 2**22 = 2**62       y is cut down to `ERROR_LEVELS` = 2**11
squared error of a child, and its parts      N 2**22 + N 2**11     see `_curator._kernels._squared_error`
n Gini in units of 1 / 1024, and its parts   1024 N = 2**50        see `_curator._kernels._gini`
  the same where 1024 n**2 fits              2**62                 n <= 2**26
centred, classes, before rescaling           2 x 4096 N = 2**53    shares are whole parts of 4096
centred, numbers, before rescaling           N G = 2**56           abs(S - m n) <= n max(m, G - m)
  both, rescaled                             2048 N = 2**51        see `_curator._kernels._rescaled`
rows of four leaves, in units of 1 / 4096    2 x 4096 N = 2**53    see `mechanisms.nested`
  the same with logarithms of sums           + 2**36               at rates of 2**-13 and more
rows of two leaves, softly, in 1 / 1024      1024 N + 2**28        logarithms of sums over 2**16 classes
rows named correctly, in units of 1 / 4096   4096 N + 2**36        shifted likewise: `rival_shift`
places along directions                      2**31                 2**16 features, scores of 16 bits
n entropy and its parts                      2 x 2**14 N = 2**55   each row adds at most W < 2**14
quantile: s L, p n and their difference      2**20 N = 2**60       s <= 2**20
balance of two sets: left, right             N = 2**40             exact in doubles, which end at 2**53
sums of public functions and weights         N 2**21 = 2**61       `MAX_PER_ROW`
scores of mixtures                           N 2**10 = 2**50       `MIXTURE_UNIT`
sums of pulls, upper and lower halves        M 2**26 = 2**56       at most 1 each, in units of 2**-50
  the same times lines of blocks             64 M 2**26 = 2**62    lines have L1 norms of at most 64
scores that are fitted, and differences      2**61, 2**62          `bits` of `_curator.fits._Fit`
products that steer a fit                    M 2**18 = 2**48       weights and values of at most 64
============================================ ===================== =========================================

M = `MAX_FITTED_ROWS` = 2**30: to more rows scores are not fitted.

Mechanisms hold what they are given and what they release between -2**62 and 2**62 (`mechanisms.noise`). Tests
put tables of this size through every score and compare with Python's integers, which have no end.
"""

from __future__ import annotations

MAX_ROWS = 2**40
"""Most rows of a table; more are refused before anything is charged."""

MAX_FITTED_ROWS = 2**30
"""Most rows of a table to which scores are fitted; more are refused before that is charged."""

MAX_PER_ROW = 2**21
"""Most that one row may add to one released sum, in absolute value."""

ERROR_LEVELS = 2**11
"""Levels of a numeric target where squares are summed; a finer target is cut down to them, row by row."""

COARSE_LEVELS = 32
"""Levels of a numeric target where a table by target is asked for."""

MAX_TREES = 2**16
"""Most trees that rows can be scattered over."""

MIXTURE_UNIT = 2**10
"""Most that one row adds to the score of a mixture of predictors."""
