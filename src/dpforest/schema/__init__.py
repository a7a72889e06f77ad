"""What is public about a table: features, target, and the fixed grid on which records are counted.

Modules, in the order of their dependence: `times` and `values` (what a single value means), `matching`
(finding it in a public list), `transforms`, `features`, `kinds` and `target` (the declared columns),
`columns`, `arrow`, `frames`, `streams`, `delimited`, `files`, `places` and `tables` (whatever holds rows,
taken apart into columns), `encoding` and `kernels` (columns into cells), `door` (the one way from a table to
cells), `documents` and `public_data` (ways to write and to get a schema), `schema` (all together).
"""

from dpforest.schema.combinations import Combination
from dpforest.schema.errors import SchemaError
from dpforest.schema.features import Feature, Nominal, Numeric, Ordinal
from dpforest.schema.kinds import Boolean, Date
from dpforest.schema.places import Source
from dpforest.schema.schema import Schema
from dpforest.schema.target import Classes, Range, Target

__all__ = [
    "Boolean",
    "Classes",
    "Combination",
    "Date",
    "Feature",
    "Nominal",
    "Numeric",
    "Ordinal",
    "Range",
    "Schema",
    "SchemaError",
    "Source",
    "Target",
]
