"""Tables of private rows. No noise, no budget, no mechanism: only "how many rows fall where?".

`rows` says what rows are to the rest (`Rows.fold`), `tables` lists what can be folded, `memory` holds rows in
memory. Only `dpforest.curator` may import this room.
"""

from dpforest.backends.limits import COARSE_LEVELS, ERROR_LEVELS, MAX_PER_ROW, MAX_ROWS, MAX_TREES
from dpforest.backends.memory import MemoryRows
from dpforest.backends.residuals import Residual
from dpforest.backends.rows import Assignment, Block, Grid, Rows, TableSpec, WholeRows
from dpforest.backends.tables import (
    By,
    CellCounts,
    CellMoments,
    LabelSums,
    LeafCounts,
    LeafSums,
    NumberCorrect,
    Products,
    RowCount,
    TargetCounts,
    fold_by_nodes,
)

__all__ = [
    "COARSE_LEVELS",
    "ERROR_LEVELS",
    "MAX_PER_ROW",
    "MAX_ROWS",
    "MAX_TREES",
    "Assignment",
    "Block",
    "By",
    "CellCounts",
    "CellMoments",
    "Grid",
    "LabelSums",
    "LeafCounts",
    "LeafSums",
    "MemoryRows",
    "NumberCorrect",
    "Products",
    "Residual",
    "RowCount",
    "Rows",
    "TableSpec",
    "TargetCounts",
    "WholeRows",
    "fold_by_nodes",
]
