"""What is public about a table: features, target, and the fixed grid on which records are counted.

Modules, in the order of their dependence: `values` (what a single value means), `matching` (finding it in a
public list), `features` and `target` (the declared columns), `columns` (data frames and arrays), `encoding`
and `kernels` (tables of cells), `documents` and `public_data` (ways to write and to get a schema), `schema`
(all together).
"""

from dpforest.schema.combinations import Combination
from dpforest.schema.errors import SchemaError
from dpforest.schema.features import Feature, Nominal, Numeric, Ordinal
from dpforest.schema.schema import Schema
from dpforest.schema.target import Classes, Range, Target

__all__ = [
    "Classes",
    "Combination",
    "Feature",
    "Nominal",
    "Numeric",
    "Ordinal",
    "Range",
    "Schema",
    "SchemaError",
    "Target",
]
