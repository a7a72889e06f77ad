"""What a fitted or growing forest looks like: flat arrays of public or released splits.

`trees` writes these arrays, `backends` route private rows through them, `trees.prediction` routes new
rows through them. Nothing here has seen a row.
"""

from dpforest.structure.additive import Additive
from dpforest.structure.flat import FlatTrees
from dpforest.structure.pairs import Pairs

__all__ = ["Additive", "FlatTrees", "Pairs"]
