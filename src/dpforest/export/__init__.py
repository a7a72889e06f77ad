"""Released models in other forms, for those who may install nothing.

`python` fills `scoring`, a file of plain Python that needs no package, with the released values of a model.
"""

from dpforest.export.python import to_python

__all__ = ["to_python"]
