"""Released models in other forms, for those who use other tools or may install nothing.

`python` fills `scoring`, a file of plain Python that needs no package, with the released values of a model;
`onnx` writes them as a graph, `sklearn` as a forest of scikit-learn, `rules` as text. What predicts is
checked against the model before it is handed out.
"""

from dpforest.export.onnx import to_onnx
from dpforest.export.python import to_python
from dpforest.export.rules import to_rules
from dpforest.export.sklearn import to_sklearn

__all__ = ["to_onnx", "to_python", "to_rules", "to_sklearn"]
