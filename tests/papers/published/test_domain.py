"""The papers' view of a table is read off the same schema as the library's own."""

import numpy as np
import pandas as pd
import pytest

from dpforest.papers.published import domain_of, raw_matrix, raw_target
from dpforest.schema import Classes, Nominal, Numeric, Ordinal, Range, Schema, SchemaError

FEATURES = {
    "age": Numeric(0, 100),
    "ward": Nominal(["A", "B", "C"]),
    "size": Ordinal(["small", "medium", "large"]),
}


def test_facts_of_a_classification_schema():
    domain = domain_of(Schema(FEATURES, target=Classes(["no", "yes"])))
    np.testing.assert_array_equal(domain.low, [0, 0, 0])
    np.testing.assert_array_equal(domain.high, [100, 4, 2])
    np.testing.assert_array_equal(domain.n_categories, [0, 3, 0])
    assert (domain.n_classes, domain.n_outputs, domain.n_codes) == (2, 2, 5)
    assert np.isnan(domain.target_low)


def test_facts_of_a_regression_schema():
    domain = domain_of(Schema(FEATURES, target=Range(-3, 7)))
    assert (domain.n_classes, domain.n_outputs) == (0, 1)
    assert (domain.target_low, domain.target_high) == (-3, 7)


def test_a_schema_without_target_is_refused():
    with pytest.raises(SchemaError, match="target"):
        domain_of(Schema(FEATURES))


def test_rows_are_matched_by_name_clipped_and_coded():
    frame = pd.DataFrame(
        {
            "size": ["large", "medium", "huge", None],
            "ward": ["C", "?", None, "A"],
            "age": [30.0, 1e9, np.nan, -np.inf],
        }
    )
    raw = raw_matrix(frame, Schema(FEATURES))
    np.testing.assert_array_equal(raw, [[30, 2, 2], [100, 4, 1], [50, 3, 1], [0, 0, 1]])
    assert raw.dtype == np.float64


def test_objects_and_words_among_numbers_become_the_middle():
    rows = np.array([["7", "B", "small"], ["seven", "B", "small"]], dtype=object)
    np.testing.assert_array_equal(raw_matrix(rows, Schema(FEATURES))[:, 0], [7, 50])


def test_targets():
    classes = Schema(FEATURES, target=Classes(["no", "yes"]))
    np.testing.assert_array_equal(raw_target(["yes", "perhaps", None, "no"], classes), [1, -1, -1, 0])
    numbers = Schema(FEATURES, target=Range(0, 10))
    np.testing.assert_array_equal(raw_target([3.25, -1, None, 99], numbers), [3.25, 0, np.nan, 10])
