"""Released models in other forms, for those who use other tools or may install nothing.

`python` fills `scoring`, a file of plain Python that needs no package, with the released values of a model;
`onnx` writes them as a graph. Each form is checked against the model before it is handed out.
"""

from dpforest.export.onnx import to_onnx
from dpforest.export.python import to_python

__all__ = ["to_onnx", "to_python"]
