"""Tables of private rows. No noise, no budget, no mechanism: only "how many rows fall where?".

`rows` says what rows are to the rest (`Rows.fold`), `tables` lists what can be folded. `memory` holds rows in
memory, `stored` those that are read piece by piece, in memory or in a private file (`spill`),
`dask_rows` and `spark_rows` those on a cluster (`partitions`). Only `dpforest._curator` may import this room.
"""

from dpforest._rows.dask_rows import DaskRows
from dpforest._rows.directions import DirectionCounts
from dpforest._rows.identity import Lasting
from dpforest._rows.limits import (
    COARSE_LEVELS,
    ERROR_LEVELS,
    MAX_FITTED_ROWS,
    MAX_PER_ROW,
    MAX_ROWS,
    MAX_TREES,
    MIXTURE_UNIT,
)
from dpforest._rows.memory import MemoryRows
from dpforest._rows.pairs import PairCounts
from dpforest._rows.residuals import Residual
from dpforest._rows.rows import Assignment, Block, Grid, Rows, TableSpec, WholeRows
from dpforest._rows.siblings import Siblings
from dpforest._rows.spark_rows import SparkRows
from dpforest._rows.stored import RereadRows, StoredRows
from dpforest._rows.tables import (
    By,
    CellCounts,
    CellMoments,
    LabelSums,
    LeafCounts,
    LeafSums,
    MixtureScores,
    Products,
    RowCount,
    TargetCounts,
    fold_by_nodes,
)

__all__ = [
    "COARSE_LEVELS",
    "ERROR_LEVELS",
    "MAX_FITTED_ROWS",
    "MAX_PER_ROW",
    "MAX_ROWS",
    "MAX_TREES",
    "MIXTURE_UNIT",
    "Assignment",
    "Block",
    "By",
    "CellCounts",
    "CellMoments",
    "DaskRows",
    "DirectionCounts",
    "Grid",
    "LabelSums",
    "Lasting",
    "LeafCounts",
    "LeafSums",
    "MemoryRows",
    "MixtureScores",
    "PairCounts",
    "Products",
    "RereadRows",
    "Residual",
    "RowCount",
    "Rows",
    "Siblings",
    "SparkRows",
    "StoredRows",
    "TableSpec",
    "TargetCounts",
    "WholeRows",
    "fold_by_nodes",
]
