"""`Schema`: all that is public about a table, and the way from records to cells.

Estimators hold a schema and call `encode_features` and `encode_target` before anything else looks at the
rows, or hand it to the `door`. The other modules of this room do the work: `documents` reads and writes JSON,
`public_data` the short forms, `door` the tables.
"""

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dpforest.schema.combinations import Combination, check_combinations
from dpforest.schema.declaration import whole_number
from dpforest.schema.dictionaries import of_frictionless, of_pandera
from dpforest.schema.documents import DEFAULT_TARGET, parse_document, read_json, write_document
from dpforest.schema.door import joined, read_cells
from dpforest.schema.encoding import cell_type
from dpforest.schema.errors import SchemaError
from dpforest.schema.features import DEFAULT_BINS, Feature, Nominal, Numeric, Ordinal
from dpforest.schema.public_data import Task, declare_bounds, read_public_frame
from dpforest.schema.target import Classes, Range, Target

if TYPE_CHECKING:
    from dpforest.schema.value_check import ValueCheck

__all__ = ["Schema"]


@dataclass(frozen=True, eq=False, repr=False)
class Schema:
    """What is public about a table: its columns, their domains, and the target.

    The privacy of every estimator rests on the schema being chosen without looking at the private rows: from
    a code book, a questionnaire, the law of the instrument, or earlier public data. Each record is mapped to
    cells of the declared grid on its own, values beyond the domain silently so.

    Parameters
    ----------
    features : mapping from str to Numeric, Date, Ordinal, Nominal or Boolean
        The features in the order of the columns of the encoded table.
    target : Classes or Range, optional
        The target, if there is one.
    combinations : tuple of Combination, optional
        Further columns of the encoded table, each made of two features.

    Examples
    --------
    >>> from dpforest.schema import Classes, Nominal, Numeric, Schema
    >>> schema = Schema(
    ...     {"age": Numeric(18, 100), "ward": Nominal(["A", "B", "C"])}, target=Classes(["home", "died"])
    ... )
    >>> schema
    Schema(age: Numeric(18, 100), ward: Nominal(['A', 'B', 'C']); target: Classes(['died', 'home']))
    >>> schema.encode_features([[18, "A"], [59, "C"], [None, "Z"]])
    array([[  0,   0],
           [128,   2],
           [256,   4]], dtype=uint16)
    >>> schema.encode_target(["home", "died", "lost"])
    array([ 1,  0, -1], dtype=int32)
    """

    features: Mapping[str, Feature]
    target: Target | None = None
    combinations: tuple[Combination, ...] = ()

    def __post_init__(self) -> None:
        if not isinstance(self.features, Mapping) or not self.features:
            raise SchemaError(
                "features must be a mapping with at least one feature, such as {'age': Numeric(0, 120)}."
            )
        for name, feature in self.features.items():
            if not isinstance(name, str) or not name:
                raise SchemaError(f"feature names must be non-empty text, got {name!r}. Rename the column.")
            if not isinstance(feature, Numeric | Ordinal | Nominal):
                raise SchemaError(
                    f"feature {name!r} must be Numeric, Ordinal or Nominal, got {type(feature).__name__}."
                )
        if self.target is not None and not isinstance(self.target, Classes | Range):
            raise SchemaError(f"target must be Classes, Range or None, got {type(self.target).__name__}.")
        check_combinations(self.combinations, dict(self.features))
        object.__setattr__(self, "features", MappingProxyType(dict(self.features)))
        object.__setattr__(self, "combinations", tuple(self.combinations))

    def __eq__(self, other: object) -> bool:
        # The order of the features is the order of the encoded columns, so it counts.
        return (
            isinstance(other, Schema)
            and list(self.features.items()) == list(other.features.items())
            and (self.target, self.combinations) == (other.target, other.combinations)
        )

    def __hash__(self) -> int:
        return hash((tuple(self.features.items()), self.target, self.combinations))

    def __reduce__(self) -> tuple[type, tuple[Any, ...]]:
        return type(self), (dict(self.features), self.target, self.combinations)

    def __repr__(self) -> str:
        shown = [f"{name}: {feature!r}" for name, feature in list(self.features.items())[:5]]
        if self.n_features > len(shown):
            shown.append(f"... {self.n_features} features in all")
        target = f"; target: {self.target!r}" if self.target is not None else ""
        return f"Schema({', '.join(shown)}{target})"

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the features in order."""
        return tuple(self.features)

    @property
    def n_features(self) -> int:
        """Number of features."""
        return len(self.features)

    @property
    def n_columns(self) -> int:
        """Number of columns of the encoded table: features, then combinations."""
        return len(self.features) + len(self.combinations)

    def share_out(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Give what each combination has to its two features, in equal parts.

        Parameters
        ----------
        values : ndarray of shape (n_columns,)
            A number per column.

        Returns
        -------
        ndarray of shape (n_features,)
        """
        shared = values[: self.n_features].copy()
        for combination, value in zip(self.combinations, values[self.n_features :], strict=True):
            for name in (combination.first, combination.second):
                shared[self.names.index(name)] += value / 2
        return shared

    @property
    def n_cells(self) -> NDArray[np.int32]:
        """Number of cells of each column, with missing and other."""
        columns = [*self.features.values(), *self.combinations]
        return np.array([column.n_cells for column in columns], dtype=np.int32)

    @property
    def nominal(self) -> NDArray[np.bool_]:
        """Whether each column is split by subsets instead of thresholds."""
        nominal = np.zeros(self.n_columns, dtype=np.bool_)
        nominal[: self.n_features] = [feature.is_nominal for feature in self.features.values()]
        return nominal

    @property
    def classes(self) -> Classes:
        """The target of a classification table."""
        if not isinstance(self.target, Classes):
            raise SchemaError(f"the target must be Classes([...]) to classify, got {self.target!r}.")
        return self.target

    @property
    def range(self) -> Range:
        """The target of a regression table."""
        if not isinstance(self.target, Range):
            raise SchemaError(f"the target must be Range(low, high) to regress, got {self.target!r}.")
        return self.target

    @property
    def n_codes(self) -> int:
        """How many codes `encode_target` may give a known target."""
        if self.target is None:
            raise SchemaError("this schema has no target: declare Classes([...]) or Range(low, high).")
        return self.target.n_codes

    @property
    def cell_type(self) -> "np.dtype[Any]":
        """Type of the encoded cells: uint8 up to 256 cells, uint16 up to 65536, else uint32."""
        return cell_type(int(self.n_cells.max()))

    def encode_features(self, X: Any, *, n_threads: int = 1, owner: str = "the schema") -> NDArray[Any]:
        """Map every record to cells of the public grid, each record on its own.

        Parameters
        ----------
        X : data frame, ndarray, sequence of rows, Arrow dataset or open file
            The table. The columns of a data frame (pandas, polars, pyarrow and others) are matched by name in
            any order, arrays, sequences and frames without names by position.
        n_threads : int, default=1
            Threads that share the rows of numeric columns.
        owner : str, default="the schema"
            Who asks, for error messages about the shape.

        Returns
        -------
        ndarray of shape (n, n_columns)
            The cells, row-major, of type `cell_type`.

        Raises
        ------
        SchemaError
            If the number or names of the columns do not fit. Never because of a value.

        Examples
        --------
        >>> import numpy as np
        >>> unit = Schema.from_bounds((0, 1), n_features=2, bins=8)
        >>> unit.encode_features(np.array([[0.5, 0.2], [2.0, np.nan]]))
        array([[4, 1],
               [7, 8]], dtype=uint8)
        """
        n_threads = whole_number("n_threads", n_threads, 1, 1024)
        blocks = list(read_cells(X, self, n_threads=n_threads, owner=owner))
        return joined(blocks or [np.empty((0, self.n_columns), dtype=self.cell_type)])

    def encode_target(self, y: Any) -> NDArray[np.int32]:
        """Map targets to class codes or fixed-point levels, -1 where they are missing or undeclared.

        Parameters
        ----------
        y : array-like or series of shape (n,)
            The targets.

        Returns
        -------
        ndarray of int32
            See `Classes.encode` and `Range.encode`.
        """
        if self.target is None:
            raise SchemaError(
                "the schema declares no target. Add target=Classes([...]) or target=Range(low, high)."
            )
        return self.target.encode(y)

    def check(self, X: Any, y: Any = None) -> "ValueCheck":
        """Count, for the owner of the rows alone, what a fit would meet: missing, undeclared, clipped values.

        A fit says nothing about values that do not fit the declaration, since that would tell something about
        a row; a declaration that does not fit at all therefore trains a useless model without a word. The
        counts are exact, hence private: they are kept nowhere, and must not be published.

        Parameters
        ----------
        X : data frame, ndarray, sequence of rows or stream
            Private features.
        y : array-like, series, column of the same stream or its name, optional
            Private target.

        Returns
        -------
        ValueCheck
            Counts and hints, column by column.

        Examples
        --------
        >>> schema = Schema({"age": Numeric(0, 120)}, Classes([0, 1]))
        >>> print(schema.check([[33], [150]], ["no", "yes"]))
        private, for the owner of the rows alone: do not publish these counts
        age: 2 values, 0 missing, 0 undeclared, 1 clipped
        target: 2 values, 0 missing, 2 undeclared, 0 clipped
          no label is a declared class: the model would learn nothing
        """
        from dpforest.schema.places import named_target
        from dpforest.schema.value_check import check_values

        return check_values(self, *named_target(X, y, self.names))

    @classmethod
    def from_dict(cls, mapping: Mapping[str, Any], target: str | None = DEFAULT_TARGET) -> "Schema":
        """Read a schema from its dictionary form.

        Parameters
        ----------
        mapping : mapping from str to mapping
            One entry per column: `{"type": "numeric" or "integer", "min": ..., "max": ...}` with optional
            `"bins"` and `"transform"`, `{"type": "date", "min": "2015-01-01", "max": ...}`, `{"type":
            "categorical", "categories": [...]}`, `{"type": "ordinal", "levels": [...]}` or `{"type":
            "boolean"}`. The target is `{"type": "class", "categories": [...]}` or `{"type": "numeric", "min":
            ..., "max": ...}` with optional `"levels"`.
        target : str or None, default="target"
            Name of the target's entry. A name other than "target" must be there.

        Returns
        -------
        Schema
            The schema.

        Examples
        --------
        >>> age = {"type": "integer", "min": 0, "max": 120}
        >>> sick = {"type": "class", "categories": [0, 1]}
        >>> Schema.from_dict({"age": age, "sick": sick}, target="sick")
        Schema(age: Numeric(0, 120, integer=True); target: Classes([0, 1]))
        """
        return cls(*parse_document(mapping, target))

    @classmethod
    def from_json(cls, path_or_text: str | os.PathLike[str], target: str | None = DEFAULT_TARGET) -> "Schema":
        """Read a schema from a JSON file or from JSON text, which starts with a brace; see `from_dict`.

        Examples
        --------
        >>> Schema.from_json('{"x": {"type": "numeric", "min": 0, "max": 1}}')
        Schema(x: Numeric(0, 1))
        """
        return cls.from_dict(read_json(path_or_text), target)

    def to_dict(self, target: str = DEFAULT_TARGET) -> dict[str, dict[str, Any]]:
        """Return the dictionary that `from_dict` reads back.

        Parameters
        ----------
        target : str, default="target"
            Name of the target's entry.

        Returns
        -------
        dict
            One entry per column.
        """
        return write_document(self.features, self.target, target, self.combinations)

    def to_json(self, path: str | os.PathLike[str] | None = None, target: str = DEFAULT_TARGET) -> str:
        """Return the JSON that `from_json` reads back, and write it to a file if a path is given.

        Examples
        --------
        >>> print(Schema({"x": Numeric(0, 1)}).to_json())
        {
         "x": {
          "type": "numeric",
          "min": 0,
          "max": 1
         }
        }
        """
        text = json.dumps(self.to_dict(target), indent=1, allow_nan=False, ensure_ascii=False)
        if path is not None:
            Path(path).write_text(text + "\n", encoding="utf-8")
        return text

    @classmethod
    def from_frictionless(cls, description: Mapping[str, Any], target: str | None = None) -> "Schema":
        """Take over the limits of a Frictionless table schema: minimum and maximum, or enum, of every field.

        Parameters
        ----------
        description : mapping
            The table schema, with its list of fields; it must be public.
        target : str, optional
            Field to predict.

        Examples
        --------
        >>> age = {"name": "age", "type": "integer", "constraints": {"minimum": 18, "maximum": 100}}
        >>> Schema.from_frictionless({"fields": [age, {"name": "ok", "type": "boolean"}]}, target="ok")
        Schema(age: Numeric(18, 100, integer=True); target: Classes([False, True]))
        """
        return cls.from_dict(of_frictionless(description, target), target)

    @classmethod
    def from_pandera(cls, description: Any, target: str | None = None) -> "Schema":
        """Take over the limits of a pandera `DataFrameSchema`: in_range, or ge and le, or isin of columns.

        Parameters
        ----------
        description : pandera.DataFrameSchema or DataFrameModel
            Must be public: one that was inferred from private rows is not. Categories of a categorical type
            count as a list, too; open ends (gt, lt) are taken as closed ones.
        target : str, optional
            Column to predict.
        """
        return cls.from_dict(of_pandera(description, target), target)

    @classmethod
    def from_bounds(
        cls,
        bounds: Any,
        n_features: int | None = None,
        names: Sequence[str] | None = None,
        classes: Sequence[Any] | None = None,
        target_range: tuple[float, float] | None = None,
        bins: int = DEFAULT_BINS,
    ) -> "Schema":
        """Declare numeric features by their bounds alone.

        Parameters
        ----------
        bounds : pair (low, high)
            Public bounds, each a scalar or one value per feature.
        n_features : int, optional
            Number of features, if neither `bounds` nor `names` tell it.
        names : sequence of str, optional
            Names of the features; by default x0, x1 and so on.
        classes : sequence, optional
            Class labels of the target.
        target_range : pair (low, high), optional
            Bounds of a numeric target.
        bins : int, default=256
            Number of grid cells of every feature.

        Returns
        -------
        Schema
            The schema.

        Examples
        --------
        >>> Schema.from_bounds(([0, -1], [1, 1]), classes=[0, 1])
        Schema(x0: Numeric(0, 1), x1: Numeric(-1, 1); target: Classes([0, 1]))
        """
        if classes is not None and target_range is not None:
            raise SchemaError("give classes or target_range, not both.")
        target: Target | None = None
        if classes is not None:
            target = Classes(classes)
        elif target_range is not None:
            if len(target_range) != 2:
                raise SchemaError("target_range must be a pair (low, high).")
            target = Range(*target_range)
        return cls(declare_bounds(bounds, n_features, names, bins), target)

    @classmethod
    def from_public_frame(
        cls, frame: Any, target: str | None = None, *, task: Task | None = None, bins: int = DEFAULT_BINS
    ) -> "Schema":
        """Read a schema off a data frame. THE FRAME MUST BE PUBLIC: ITS VALUES END UP IN THE SCHEMA.

        NEVER PASS PRIVATE ROWS. The smallest and largest value of every numeric column and every category
        that occurs are copied into the schema, which is released with the model and voids its guarantee if
        they came from private rows. Use it for synthetic rows, a published sample or a code book in the shape
        of a table.

        Numeric columns become `Numeric(min, max)`, with `integer=True` for integer types; times become
        `Numeric` in seconds since 1970; text, categoricals and booleans become `Nominal`. A target of floats
        becomes a `Range`, any other target `Classes`.

        Parameters
        ----------
        frame : data frame
            Public rows, in any library that narwhals reads.
        target : str, optional
            Name of the target's column.
        task : {"classification", "regression"}, optional
            What the target is for, where its type does not tell: integers are classes unless this says
            "regression".
        bins : int, default=256
            Number of grid cells of every numeric feature.

        Returns
        -------
        Schema
            The schema.

        Examples
        --------
        >>> import pandas as pd
        >>> code_book = pd.DataFrame({"age": [18, 100], "ward": ["B", "A"], "outcome": ["home", "died"]})
        >>> Schema.from_public_frame(code_book, target="outcome")
        Schema(age: Numeric(18, 100, integer=True), ward: Nominal(['A', 'B']);
               target: Classes(['died', 'home']))
        """
        return cls(*read_public_frame(frame, target, task, bins))
