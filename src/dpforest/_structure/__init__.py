"""What a fitted or growing forest looks like: flat arrays of public or released splits.

`_trees` writes these arrays, `_rows` routes private rows through them, `_trees.prediction` routes new
rows through them. Nothing here has seen a row.
"""

from dpforest._structure.additive import Additive
from dpforest._structure.flat import FlatTrees
from dpforest._structure.pairs import Pairs

__all__ = ["Additive", "FlatTrees", "Pairs"]
