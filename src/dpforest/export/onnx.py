"""A fitted model as one ONNX graph, from raw columns to probabilities, checked before it is handed out.

The graph is driven by tables, as the model is: columns become cells of the public grid by binary search, rows
walk all trees side by side, one level at a time, and leaves and scores of cells are looked up and added.
Numbers are doubles and whole numbers all the way, so that a value on a border goes where the model sends it.
"""

from __future__ import annotations

import json
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np

from dpforest._structure.additive import UNIT
from dpforest.export.columns import OnnxColumns, columns_for, padded
from dpforest.export.nodes import Nodes
from dpforest.export.python import agrees, document_of, made_up_rows

if TYPE_CHECKING:
    from onnx import ModelProto

CHECKED_ROWS = 200
OPSET, OPSET_OF_LABELS = 18, 2  # of 2022 and 2019: old runtimes understand them
_IR_VERSION = 8


def to_onnx(model: Any) -> ModelProto:
    """Write a fitted model as an ONNX graph that takes raw columns.

    The graph has one input of shape (rows, 1) for every feature, under its name and in the order of the
    schema: doubles for numbers, for dates (seconds since 1970), for truth values and for lists of nothing but
    numbers, with NaN where a value is missing; text for all other lists, with ``"nan"`` where a value is
    missing. Numbers out of range and undeclared categories are treated as the model treats them. The outputs
    are ``label`` and ``probabilities``, in this order, or ``prediction`` for numbers; where a feature has
    that name, an output has an underscore behind it (``label_``): names in a graph must differ.

    It holds released values and public facts only, as the model does. It is run on made-up rows before it is
    returned, and refused if any of its answers differs from the model's by more than 1e-6.

    Parameters
    ----------
    model : fitted forest of this library
        Any but one that was run as published.

    Returns
    -------
    onnx.ModelProto
        Needs the extra ``onnx``; `SerializeToString` makes the bytes of a file.

    Examples
    --------
    >>> import numpy as np
    >>> from dpforest import PrivateForestClassifier
    >>> from dpforest.export import to_onnx
    >>> X = np.random.default_rng(0).random((500, 2))
    >>> model = PrivateForestClassifier(bounds=(0, 1), classes=[0, 1]).fit(X, X[:, 0] > 0.5)
    >>> [column.name for column in to_onnx(model).graph.input]
    ['x0', 'x1']
    """
    if find_spec("onnx") is None:
        raise ImportError("ONNX needs a package: pip install 'dpforest[onnx]'")
    document = document_of(model)
    _check_text(document)
    found = _build(document, model)
    _check(found, model)
    return found


def _check_text(document: dict[str, Any]) -> None:
    lists = [list(feature.get("texts", ())) for feature in document["features"]]
    try:
        json.dumps([document["names"], document.get("classes"), lists], ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise ValueError(
            "ONNX has no room for text that UTF-8 cannot write: rename the column, category or class that "
            "holds half of a surrogate pair."
        ) from None


def _build(document: dict[str, Any], model: Any) -> ModelProto:
    from onnx import checker, helper

    nodes = Nodes(document["names"])
    columns = OnnxColumns(nodes, list(model.schema_.features.values()), document["names"])
    cells = columns.cells()
    scores = _additive(nodes, document, cells)
    cells = _combined(nodes, document, cells)
    cells = _pairs(nodes, document, cells)
    votes = _votes(nodes, document, _leaves(nodes, document, cells))
    if scores is not None:
        votes = nodes.add("Add", scores, nodes.add("Mul", votes, nodes.scalar(document["tree_weight"])))
    outputs = _finish(nodes, document, votes)
    graph = helper.make_graph(nodes.all, "dpforest", columns.inputs, outputs, nodes.constants)
    versions = [helper.make_opsetid("", OPSET), helper.make_opsetid("ai.onnx.ml", OPSET_OF_LABELS)]
    found = helper.make_model(graph, producer_name="dpforest", opset_imports=versions, ir_version=_IR_VERSION)
    facts = {"guarantee": model.guarantee_.to_dict(), "schema": model.schema_.to_dict()}
    helper.set_model_props(found, {name: json.dumps(fact) for name, fact in facts.items()})
    checker.check_model(found)
    return found


def _additive(nodes: Nodes, document: dict[str, Any], cells: str) -> str | None:
    """Sum the scores of each row's cells, in whole numbers as the model does."""
    table = np.array(document["additive"], np.int64)
    if not table.size:
        return None
    n_features, n_cells, n_outputs = table.shape
    places = nodes.add("Add", cells, nodes.constant(np.arange(n_features) * n_cells))
    found = nodes.add("Gather", nodes.constant(table.reshape(-1, n_outputs)), places)
    return nodes.add("Div", nodes.cast(nodes.total(found, 1), np.float64), nodes.scalar(float(UNIT)))


def _combined(nodes: Nodes, document: dict[str, Any], cells: str) -> str:
    """Append sums and differences of two features; see `dpforest.schema.kernels.combine`."""
    if not document["combinations"]:
        return cells
    first, second, sign = np.array(document["combinations"], np.int64).T
    known = np.array([feature["known"] for feature in document["features"]], np.int64)
    places, unknown = [], []
    for of in (first, second):
        mine = nodes.add("Gather", cells, nodes.constant(of), axis=1)
        unknown.append(nodes.add("GreaterOrEqual", mine, nodes.constant(known[of])))
        middle = nodes.add("Mul", nodes.add("Add", nodes.add("Mul", mine, nodes.whole(2)), nodes.whole(1)),
                           nodes.whole(32768))  # fmt: skip
        places.append(nodes.add("Div", middle, nodes.constant(known[of])))
    signed = nodes.add("Add", nodes.add("Mul", places[1], nodes.constant(sign)),
                       nodes.constant(np.where(sign > 0, 0, 65536)))  # fmt: skip
    total = nodes.add("Mul", nodes.add("Add", places[0], signed), nodes.whole(256))
    codes = nodes.add("Min", nodes.add("Div", total, nodes.whole(131072)), nodes.whole(255))
    either = nodes.add("Or", *unknown)
    return nodes.add("Concat", cells, nodes.add("Where", either, nodes.whole(256), codes), axis=1)


def _pairs(nodes: Nodes, document: dict[str, Any], cells: str) -> str:
    """Append weighted sums of two features' places on learnt scales; see `dpforest._structure.pairs`."""
    columns = np.array(document["pairs"]["columns"], np.int64)
    if not columns.size:
        return cells
    scales = np.array(document["pairs"]["scales"], np.int64)
    flat, parts = nodes.constant(scales.ravel()), []
    for of, weight in ((columns[:, 0], columns[:, 2]), (columns[:, 1], columns[:, 3])):
        mine = nodes.add("Gather", cells, nodes.constant(of), axis=1)
        at = nodes.add("Add", mine, nodes.constant(of * scales.shape[1]))
        parts.append(nodes.add("Mul", nodes.add("Gather", flat, at), nodes.constant(weight)))
    cuts = padded(np.array([document["pairs"]["cuts"]], np.int64), np.iinfo(np.int64).max)
    codes = nodes.search(nodes.add("Add", *parts), np.repeat(cuts, len(columns), axis=0), "Greater")
    return nodes.add("Concat", cells, codes, axis=1)


def _leaves(nodes: Nodes, document: dict[str, Any], cells: str) -> str:
    """Walk all trees side by side: the number of each row's leaf among those of all trees."""
    feature, threshold, votes = (np.array(part) for part in zip(*document["trees"], strict=True))
    n_trees, n_nodes = feature.shape
    depth = n_nodes.bit_length()
    sets = np.array(document["left_sets"], np.int64)
    by_set = bool((threshold < 0).any())
    not_left = nodes.constant(1 - sets.ravel()) if by_set else ""
    first_node, flat_feature, flat_cut = (
        nodes.constant(part.ravel().astype(np.int64)) if depth else ""
        for part in (np.arange(n_trees) * n_nodes, feature, threshold)
    )
    # all rows start at node 0 of every tree
    node = nodes.add("Mul", nodes.first_column(cells), nodes.constant(np.zeros((1, n_trees), np.int64)))
    for _ in range(depth):
        at = nodes.add("Add", node, first_node)
        cell = nodes.add("GatherElements", cells, nodes.add("Gather", flat_feature, at), axis=1)
        cut = nodes.add("Gather", flat_cut, at)
        right = nodes.cast(nodes.add("Greater", cell, cut), np.int64)
        if by_set:
            number = nodes.add("Max", nodes.add("Sub", nodes.whole(-1), cut), nodes.whole(0))
            inside = nodes.add("Min", cell, nodes.whole(sets.shape[1] - 1))
            place = nodes.add("Add", nodes.add("Mul", number, nodes.whole(sets.shape[1])), inside)
            is_set = nodes.add("Less", cut, nodes.whole(0))
            right = nodes.add("Where", is_set, nodes.add("Gather", not_left, place), right)
        step = nodes.add("Add", right, nodes.whole(1))
        node = nodes.add("Add", nodes.add("Mul", node, nodes.whole(2)), step)
    return nodes.add("Add", node, nodes.constant(np.arange(n_trees) * votes.shape[1] - n_nodes))


def _votes(nodes: Nodes, document: dict[str, Any], leaves: str) -> str:
    votes = np.array([leaves_of_tree for *_, leaves_of_tree in document["trees"]], np.float64)
    found = nodes.add("Gather", nodes.constant(votes.reshape(-1, votes.shape[2])), leaves)
    return nodes.total(found, 1)


def _finish(nodes: Nodes, document: dict[str, Any], votes: str) -> list[Any]:
    """Turn summed votes into the outputs; see `dpforest.export.scoring`."""
    ending = document["ending"]
    if ending == "softmax":
        votes = nodes.add("Softmax", votes, axis=1)
        if document["clip"] is not None:
            votes = _unclipped(nodes, votes, document["clip"])
    if ending in ("softmax", "shares"):
        clamped = nodes.add("Max", votes, nodes.scalar(0.0))
        total = nodes.total(clamped, 1, keep=True)
        some = nodes.add("Greater", total, nodes.scalar(0.0))
        shares = nodes.add("Div", clamped, nodes.add("Where", some, total, nodes.scalar(1.0)))
        uniform = nodes.scalar(1 / document["n_outputs"])
        labels = np.asarray(document["classes"])
        probabilities, decided = nodes.add("Where", some, shares, uniform), votes
        if document["decision"] is not None:
            decided = nodes.add("Mul", probabilities, nodes.constant(np.array([document["decision"]])))
        best = nodes.add("ArgMax", decided, axis=1, keepdims=0)
        return [
            nodes.output("label", nodes.add("Gather", nodes.constant(labels), best), labels.dtype, None),
            nodes.output("probabilities", probabilities, np.float64, document["n_outputs"]),
        ]
    first = nodes.first_column(votes)
    levels = float(document["levels"])
    level = first
    if ending == "means":
        total = nodes.total(votes, 1, keep=True)
        enough = nodes.add("GreaterOrEqual", total, nodes.scalar(levels))
        divisor = nodes.add("Where", enough, total, nodes.scalar(1.0))
        mean = nodes.add("Div", nodes.add("Mul", first, nodes.scalar(levels)), divisor)
        level = nodes.add("Where", enough, mean, nodes.scalar(document["fallback"]))
    level = nodes.add("Min", nodes.add("Max", level, nodes.scalar(0.0)), nodes.scalar(levels))
    width = nodes.add("Mul", level, nodes.scalar(document["high"] - document["low"]))
    answer = nodes.add("Add", nodes.add("Div", width, nodes.scalar(levels)), nodes.scalar(document["low"]))
    flat = nodes.add("Squeeze", answer, nodes.constant(np.array([1])))
    return [nodes.output("prediction", flat, np.float64, None)]


def _unclipped(nodes: Nodes, shares: str, clip: float) -> str:
    """Undo what gradients that were clipped did to the probabilities; see `dpforest.export.scoring`."""
    squares = nodes.total(nodes.add("Mul", shares, shares), 1, keep=True)
    twice = nodes.add("Mul", shares, nodes.scalar(2.0))
    away = nodes.add("Sub", nodes.add("Add", squares, nodes.scalar(1.0)), twice)
    length = nodes.add("Sqrt", nodes.add("Max", away, nodes.scalar(0.0)))
    longer = nodes.add("Max", nodes.add("Div", length, nodes.scalar(clip)), nodes.scalar(1.0))
    return nodes.add("Mul", shares, nodes.add("Pow", longer, nodes.scalar(1 - 2.0**-20)))


def _check(found: ModelProto, model: Any) -> None:
    """Run the graph on made-up rows, by ONNX's own reference, and compare."""
    from onnx.reference import ReferenceEvaluator

    rows = made_up_rows(model.schema_, CHECKED_ROWS, np.random.default_rng(0))
    asked = columns_for(model, rows)
    predicted, *probabilities = ReferenceEvaluator(found).run(None, asked)
    table = np.concatenate([column.astype(object) for column in asked.values()], axis=1)
    if not agrees(model, table, np.asarray(predicted), probabilities[0] if probabilities else None):
        raise RuntimeError("The exported graph does not predict as the model does; it was not written.")
