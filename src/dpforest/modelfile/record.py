"""What a released model consists of, and every check that a file must pass before it is one.

`dpforest.forests.saved` makes records of estimators and estimators of records. Compiled kernels walk the
trees without looking at the bounds of arrays, so a record that was read is only returned if no walk of any
row can leave them: `_check_walks` is what stands between a hostile file and the memory of the process.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpforest._structure import Additive, FlatTrees, Pairs
from dpforest._structure.flat import EVERYTHING_LEFT
from dpforest.modelfile.arrays import read_array, read_shape, write_array, write_bits
from dpforest.modelfile.document import read_document, write_document
from dpforest.modelfile.errors import ModelFileError
from dpforest.modelfile.signing import fingerprint
from dpforest.privacy import Ledger, PrivacyError, PrivacyGuarantee, Receipt
from dpforest.schema import Classes, Schema

MAX_DEPTH = 15
MAX_TREES = 65_536
MAX_ENTRIES = 2**26  # leaves of all trees times classes
MAX_SET_CELLS = 2**28  # category sets times categories
MAX_CLASSES = 4096
MAX_QUERIES = 4096
MAX_TREE_WEIGHT = 16.0
MAX_PAIRS = 4096
MAX_PAIR_CODES = 256
MAX_NOISE = 2.0**62  # what mechanisms release has no more bits

Scalar = str | int | float | bool | None
# Whatever a strange file makes the constructors of this library raise.
REFUSALS = (
    ValueError,
    TypeError,
    LookupError,
    ArithmeticError,
    AttributeError,
    RecursionError,
    PrivacyError,
)


@dataclass(frozen=True, eq=False)
class ModelRecord:
    """Everything that is kept of a fitted model: released values and public facts.

    Parameters
    ----------
    estimator : str
        Name of the class.
    parameters : mapping
        Constructor parameters that have plain values.
    declared : bool
        Whether the schema was declared; False if it was read off the private rows.
    schema : Schema
        What is public about the table.
    feature_names : tuple of str or None
        Column names of the training table in their order, if it had any.
    trees : FlatTrees
        Released splits.
    statistics : ndarray of int64, shape (n_trees, n_leaves) or (n_trees, n_leaves, n_outputs)
        Released label, or released noisy counts or sums, of every leaf.
    leaf_noises : tuple of float
        Standard deviation of the noise in the statistics of each tree; empty if that is not one number.
    ledger : Ledger
        Every query of private rows, and the plan that paid.
    guarantee : PrivacyGuarantee
        What is promised.
    additive : Additive or None
        The part of the model that is a sum over features, if it has one.
    receipt : Receipt or None
        Where its charge stands; None if it was charged to nobody.
    leaf_classes : ndarray of int64, shape (n_leaves,), or None
        Released class of every leaf of the one tree, if classes were chosen with its cuts.
    signed_by : str or None
        Fingerprint of the key that signed the file it was read from, if the caller knew the key.
    """

    estimator: str
    parameters: Mapping[str, Scalar]
    declared: bool
    schema: Schema
    feature_names: tuple[str, ...] | None
    trees: FlatTrees
    statistics: NDArray[np.int64]
    leaf_noises: tuple[float, ...]
    ledger: Ledger
    guarantee: PrivacyGuarantee
    additive: Additive | None = None
    receipt: Receipt | None = None
    leaf_classes: NDArray[np.int64] | None = None
    signed_by: str | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.estimator, str) or type(self.declared) is not bool:
            raise ModelFileError("'estimator' must be a name and 'declared' true or false.")
        for name, value in self.parameters.items():
            if not isinstance(value, str | int | float | bool | None):
                raise ModelFileError(f"parameter {name!r} must be a number, a text, true, false or null.")
        names = self.feature_names
        if names is not None and sorted(map(str, names)) != sorted(self.schema.names):
            raise ModelFileError("the feature names are not those of the schema.")
        _check_sizes(self.trees.n_trees, self.trees.depth, self.schema)
        pairs = None if self.additive is None else self.additive.pairs
        if pairs is not None:
            _check_pairs(pairs, self.schema)
        _check_walks(self.trees, self.schema, pairs)
        _check_statistics(self.statistics, self.trees, self.schema)
        _check_noises(self.leaf_noises, self.trees)
        if self.leaf_classes is not None:
            _check_classes(self.leaf_classes, self.trees, self.schema)
        if self.additive is not None:
            _check_additive(self.additive, self.schema)


def write_record(record: ModelRecord, path: str | os.PathLike[str], private_key: Any = None) -> None:
    """Write a model file.

    Parameters
    ----------
    record : ModelRecord
        The model.
    path : str or path
        Where to; an existing file is replaced.
    private_key : Ed25519PrivateKey, optional
        Whose signature the file gets.
    """
    target = "target"
    while target in record.schema.features:
        target += "_"
    body: dict[str, Any] = {
        "estimator": record.estimator,
        "parameters": record.parameters,
        "declared": record.declared,
        "schema": {"target": target, "columns": record.schema.to_dict(target)},
        "feature_names": record.feature_names,
        "guarantee": record.guarantee.to_dict(),
        "ledger": record.ledger.to_dict(),
        "receipt": None if record.receipt is None else record.receipt.to_dict(),
        "trees": {
            "depth": record.trees.depth,
            "feature": write_array(record.trees.feature),
            "threshold": write_array(record.trees.threshold),
            "left_sets": write_bits(record.trees.left_sets),
        },
        "leaf_statistics": write_array(record.statistics),
        "leaf_noises": list(record.leaf_noises),
        "leaf_classes": None if record.leaf_classes is None else record.leaf_classes.tolist(),
        "additive": None,
    }
    if record.additive is not None:
        part = record.additive
        body["additive"] = {
            "table": write_array(part.table),
            "tree_weight": part.tree_weight,
            "spans": part.spans.tolist(),
            "boosted": _write_boosted(part),
        }
    write_document(body, path, private_key)


def _write_boosted(part: Additive) -> dict[str, Any] | None:
    if part.pairs is None or part.gains is None:
        return None
    return {
        "scales": write_array(part.pairs.scales),
        "pairs": write_array(part.pairs.columns),
        "cuts": write_array(part.pairs.cuts),
        "gains": write_array(part.gains),
        "clip": part.clip,
    }


def read_record(path: str | os.PathLike[str], public_key: Any = None) -> ModelRecord:
    """Read a model file that anyone may have written; runs no code from it.

    Parameters
    ----------
    path : str or path
        The file.
    public_key : Ed25519PublicKey, optional
        Whose signature it must have.

    Raises
    ------
    ModelFileError
        If it is not a model file of a known version with a matching checksum, is not signed by the key, or
        anything in it is out of range.
    """
    document = read_document(path)
    if public_key is not None:
        document.require(public_key)
    body = document.body
    known = {
        "estimator",
        "parameters",
        "declared",
        "schema",
        "feature_names",
        "guarantee",
        "ledger",
        "receipt",
        "trees",
        "leaf_statistics",
        "leaf_noises",
        "leaf_classes",
        "additive",
    }
    body.setdefault("leaf_classes", None)  # files of earlier versions have none
    if set(body) != known:
        raise ModelFileError(f"the body must hold {', '.join(sorted(known))}, and nothing else.")
    try:
        record = _parse(body)
        return record if public_key is None else replace(record, signed_by=fingerprint(public_key))
    except ModelFileError:
        raise
    except REFUSALS as error:
        raise ModelFileError(f"not a valid model ({type(error).__name__}: {error}).") from None


def _parse(body: dict[str, Any]) -> ModelRecord:
    schema = Schema.from_dict(body["schema"]["columns"], body["schema"]["target"])
    ledger, names = body["ledger"], body["feature_names"]
    if len(ledger["queries"]) > MAX_QUERIES or len(ledger["plan"]["pools"]) > MAX_QUERIES:
        raise ModelFileError(f"a ledger may have at most {MAX_QUERIES} queries and pools.")
    trees = _parse_trees(body["trees"], schema)
    statistics = body["leaf_statistics"]
    shape = read_shape(statistics, "leaf_statistics", (2, 3), MAX_ENTRIES)
    expected = (trees.n_trees, trees.n_leaves, _n_outputs(schema))
    if shape != expected[: len(shape)]:
        raise ModelFileError(f"leaf_statistics must have shape {expected}, or without the last axis.")
    return ModelRecord(
        body["estimator"],
        dict(body["parameters"]),
        body["declared"],
        schema,
        None if names is None else tuple(names),
        trees,
        read_array(statistics, "leaf_statistics", shape, np.int64),
        tuple(body["leaf_noises"]),
        Ledger.from_dict(ledger),
        PrivacyGuarantee.from_dict(body["guarantee"]),
        None if body["additive"] is None else _parse_additive(body["additive"], schema),
        None if body["receipt"] is None else Receipt.from_dict(body["receipt"]),
        _parse_classes(body["leaf_classes"], trees),
    )


def _parse_classes(classes: Any, trees: FlatTrees) -> NDArray[np.int64] | None:
    if classes is None:
        return None
    if not isinstance(classes, list) or len(classes) != trees.n_leaves:
        raise ModelFileError("leaf_classes must be null or a list with one class per leaf.")
    if any(type(one) is not int or not 0 <= one < 2**16 for one in classes):
        raise ModelFileError("leaf_classes must be numbers of classes.")
    return np.array(classes, np.int64)


def _parse_additive(document: Any, schema: Schema) -> Additive:
    if not isinstance(document, dict) or set(document) != {"table", "tree_weight", "spans", "boosted"}:
        raise ModelFileError(
            "additive must be null or hold table, tree_weight, spans and boosted, and nothing else."
        )
    shape = read_shape(document["table"], "additive", (3,), MAX_ENTRIES)
    if shape != _additive_shape(schema):
        raise ModelFileError("the additive part does not fit the features and the target.")
    if not isinstance(document["spans"], list) or len(document["spans"]) > MAX_TREES:
        raise ModelFileError("spans must be a list with one pair of numbers per tree.")
    spans = np.array(document["spans"], np.float64).reshape(-1, 2)
    table = read_array(document["table"], "additive", shape, np.int64)
    return Additive(table, document["tree_weight"], spans, *_parse_boosted(document["boosted"], schema))


def _parse_boosted(
    document: Any, schema: Schema
) -> tuple[Pairs, NDArray[np.int64], float | None] | tuple[None, None, None]:
    if document is None:
        return None, None, None
    if not isinstance(document, dict) or set(document) != {"scales", "pairs", "cuts", "gains", "clip"}:
        raise ModelFileError(
            "a boosted part must hold scales, pairs, cuts, gains and clip, and nothing else."
        )
    limits = {"pairs": (2, 4 * MAX_PAIRS), "cuts": (1, MAX_PAIR_CODES)}
    shapes = {name: read_shape(document[name], name, (axes,), most) for name, (axes, most) in limits.items()}
    shapes |= {"scales": _additive_shape(schema)[:2], "gains": (schema.n_features,)}
    scales, columns, cuts, gains = (
        read_array(document[name], name, shapes[name], np.int64 if name == "gains" else np.int32)
        for name in ("scales", "pairs", "cuts", "gains")
    )
    return Pairs(scales, columns, cuts), gains, document["clip"]


def _parse_trees(document: Any, schema: Schema) -> FlatTrees:
    if not isinstance(document, dict) or set(document) != {"depth", "feature", "threshold", "left_sets"}:
        raise ModelFileError("trees must hold depth, feature, threshold and left_sets, and nothing else.")
    depth = document["depth"]
    if type(depth) is not int or not 0 <= depth <= MAX_DEPTH:
        raise ModelFileError(f"the depth must be a whole number from 0 to {MAX_DEPTH}.")
    n_trees, _ = read_shape(document["feature"], "feature", (2,), MAX_ENTRIES)
    _check_sizes(n_trees, depth, schema)
    shape = (n_trees, 2**depth - 1)
    sets = read_shape(document["left_sets"], "left_sets", (2,), MAX_SET_CELLS)
    return FlatTrees(
        depth,
        read_array(document["feature"], "feature", shape, np.int32),
        read_array(document["threshold"], "threshold", shape, np.int32),
        read_array(document["left_sets"], "left_sets", sets, np.uint8),
    )


def _n_outputs(schema: Schema) -> int:
    if schema.target is None:
        raise ModelFileError("the schema of a model must have a target.")
    return schema.target.n_classes if isinstance(schema.target, Classes) else 2


def _check_sizes(n_trees: int, depth: int, schema: Schema) -> None:
    n_outputs = _n_outputs(schema)
    if not 1 <= n_trees <= MAX_TREES or n_outputs > MAX_CLASSES:
        raise ModelFileError(f"a model file has room for {MAX_TREES} trees and {MAX_CLASSES} classes.")
    if depth > MAX_DEPTH or n_trees * 2**depth * n_outputs > MAX_ENTRIES:
        raise ModelFileError(f"a model file has room for {MAX_ENTRIES} leaf entries; grow fewer leaves.")


def _check_pairs(pairs: Pairs, schema: Schema) -> None:
    """Refuse pairs that look at a cell or feature that does not exist, or whose codes could overflow."""
    shape = _additive_shape(schema)[:2]
    columns, cuts = pairs.columns, pairs.cuts
    if pairs.scales.shape != shape or columns.ndim != 2 or columns.shape[1] != 4 or cuts.ndim != 1:
        raise ModelFileError("the arrays of the pairs do not fit the features and each other.")
    if len(columns) > MAX_PAIRS or len(cuts) >= MAX_PAIR_CODES or (np.diff(cuts.astype(np.int64)) < 0).any():
        raise ModelFileError("there are too many pairs or cuts of them, or the cuts do not rise.")
    if not ((columns[:, :2] >= 0) & (columns[:, :2] < schema.n_features)).all():
        raise ModelFileError("a pair is made of a feature that does not exist.")


def _check_walks(trees: FlatTrees, schema: Schema, pairs: Pairs | None) -> None:
    """Refuse trees in which some row could make a kernel read outside of an array.

    A walk reads ``cells[row, feature]``; then, where the threshold t is negative, ``left_sets[-t - 1, cell]``
    with a cell below the feature's number of cells.
    """
    feature, threshold = trees.feature, trees.threshold.astype(np.int64)
    n_sets, n_set_cells = trees.left_sets.shape
    shape = (trees.n_trees, 2**trees.depth - 1)
    if feature.shape != shape or threshold.shape != shape or n_sets < 1 or n_set_cells < 1:
        raise ModelFileError("the arrays of the trees do not fit each other.")
    if trees.left_sets.size > MAX_SET_CELLS:
        raise ModelFileError(f"a model file has room for {MAX_SET_CELLS} entries of category sets.")
    if feature.size == 0:
        return
    n_pairs, n_codes = (0, 0) if pairs is None else (len(pairs.columns), pairs.n_codes)
    if feature.min() < 0 or feature.max() >= schema.n_columns + n_pairs:
        raise ModelFileError("a node looks at a feature that does not exist.")
    n_cells = np.append(schema.n_cells, [n_codes] * n_pairs)
    nominal = np.append(schema.nominal, np.zeros(n_pairs, np.bool_))
    if nominal.any() and n_cells[nominal].max() > n_set_cells:
        raise ModelFileError("the category sets are narrower than a nominal feature.")
    by_set = threshold < 0
    if (by_set & ~nominal[feature]).any() or (by_set & (-threshold > n_sets)).any():
        raise ModelFileError("a node cuts by a category set that does not exist for its feature.")
    in_range = by_set | (threshold < n_cells[feature]) | (threshold == EVERYTHING_LEFT)
    if not in_range.all():
        raise ModelFileError("a threshold lies outside of its feature's cells.")


def _additive_shape(schema: Schema) -> tuple[int, int, int]:
    n_outputs = _n_outputs(schema) if isinstance(schema.target, Classes) else 1
    return schema.n_features, int(schema.n_cells[: schema.n_features].max()), n_outputs


def _check_noises(noises: tuple[float, ...], trees: FlatTrees) -> None:
    if noises and len(noises) != trees.n_trees:
        raise ModelFileError("leaf_noises must have one number per tree, or none at all.")
    if not all(type(sd) is float and 0 <= sd <= MAX_NOISE for sd in noises):
        raise ModelFileError(f"leaf_noises must be numbers from 0 to {MAX_NOISE:g}.")


def _check_additive(part: Additive, schema: Schema) -> None:
    """Refuse tables that a row could leave, and scores whose sum could overflow."""
    if part.table.shape != _additive_shape(schema) or part.table.dtype != np.int64:
        raise ModelFileError("the additive part does not fit the features and the target.")
    largest = max(-int(part.table.min()), int(part.table.max()))
    if largest >= 2**62 // schema.n_features:
        raise ModelFileError("a score of the additive part is too large.")
    if type(part.tree_weight) is not float or not 0 <= part.tree_weight <= MAX_TREE_WEIGHT:
        raise ModelFileError(f"tree_weight must be a number from 0 to {MAX_TREE_WEIGHT}.")
    if (part.gains is None) != (part.pairs is None) or (
        part.gains is not None and (part.gains.shape != (schema.n_features,) or part.gains.min() < 0)
    ):
        raise ModelFileError("a boosted part needs a gain of 0 or more for every feature.")
    has_clip = part.pairs is not None and isinstance(schema.target, Classes)
    if (type(part.clip) is not float or not 0.1 <= part.clip <= 2) if has_clip else part.clip is not None:
        raise ModelFileError("clip must be a number from 0.1 to 2 for boosted classes, and null otherwise.")
    spans = part.spans
    if spans.ndim != 2 or not np.isfinite(spans).all() or not (spans[:, 0] < spans[:, 1]).all():
        raise ModelFileError("the spans of the trees are not pairs of rising numbers.")


def _check_classes(classes: NDArray[np.int64], trees: FlatTrees, schema: Schema) -> None:
    is_named = isinstance(schema.target, Classes) and trees.n_trees == 1
    if not is_named or classes.dtype != np.int64 or classes.shape != (trees.n_leaves,):
        raise ModelFileError("classes of leaves do not fit the trees and the target.")
    if classes.min() < 0 or classes.max() >= _n_outputs(schema):
        raise ModelFileError("a leaf has a class that is not declared.")


def _check_statistics(statistics: NDArray[np.int64], trees: FlatTrees, schema: Schema) -> None:
    shape = (trees.n_trees, trees.n_leaves, _n_outputs(schema))
    if statistics.dtype != np.int64 or statistics.shape not in (shape, shape[:2]):
        raise ModelFileError("the leaf statistics do not fit the trees and the target.")
    if statistics.ndim == 2 and not (
        isinstance(schema.target, Classes) and statistics.min() >= 0 and statistics.max() < shape[2]
    ):
        raise ModelFileError("a leaf's label is not a declared class.")
