"""Labels from neighbours and a linear predictor: right without noise, and exactly as private as it says."""

from functools import partial
from itertools import product

import numpy as np
import pytest
from sklearn.linear_model import Ridge

from dpforest._curator import Curator
from dpforest._rows import LabelSums
from dpforest._trees import find_leaves
from dpforest.audit import audit
from dpforest.papers.baselines import TransductiveOutputPerturbationClassifier
from dpforest.papers.baselines.transductive_output_perturbation import (
    COLUMN_NORM,
    Terms,
    ladders,
    least_squares,
    mutual_neighbours,
    whole_columns,
)
from dpforest.papers.published import BROKEN_PROMISES, Domain, output_perturbation
from dpforest.papers.published.linear_predictor import minimum, noise_scale, unit_rows
from dpforest.privacy import PrivacyLeakWarning
from dpforest.schema import Classes, Nominal, Numeric, Ordinal, Schema
from tests.papers.baselines.test_jpw import leaf_rate
from tests.papers.published.test_flaws_of_median_forests import keeps_word

RNG = np.random.default_rng(0)
LABELLED, UNLABELLED = RNG.normal(size=(40, 3)), RNG.normal(size=(100, 3))
MIXED = Schema(
    {"x": Numeric(0, 10, bins=16), "size": Ordinal(["s", "m", "l"]), "ward": Nominal(["a", "b", "c"])},
    Classes([0, 1, 2]),
)


def mixed_table(n_rows=400):
    rng = np.random.default_rng(1)
    X = np.empty((n_rows, 3), object)
    X[:, 0], X[:, 1], X[:, 2] = rng.random(n_rows) * 10, rng.choice(list("sml"), n_rows), None
    X[:, 2] = rng.choice(list("abc?"), n_rows)
    X[::9, 0] = None
    truth = (np.where(X[:, 0] == None, 0, X[:, 0]).astype(float) > 5) + (X[:, 2] == "a")  # noqa: E711
    return X, truth


# --- the predictor ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("k", [1, 4, 1000])
def test_neighbours_are_mutual(k):
    """Against all distances, one by one."""
    far = np.linalg.norm(UNLABELLED[:, None] - LABELLED[None], axis=2)
    of_unlabelled = np.argsort(np.argsort(far, axis=1), axis=1) < k
    of_labelled = np.argsort(np.argsort(far, axis=0), axis=0) < k
    found = np.zeros(far.shape, bool)
    found[mutual_neighbours(LABELLED, UNLABELLED, k)] = True
    np.testing.assert_array_equal(found, of_unlabelled & of_labelled)
    assert found.sum(axis=0).max() <= k
    assert found.sum(axis=1).max() <= k


def test_the_matrix_is_that_of_ridge_regression():
    """For any labels, the matrix gives the weights that scikit-learn finds for the labels of neighbours."""
    y = RNG.random(40)
    other, one = mutual_neighbours(LABELLED, UNLABELLED, 3)
    means = {u: y[one[other == u]].mean() for u in np.unique(other)}
    rows = np.concatenate([LABELLED, UNLABELLED[list(means)]])
    ridge = Ridge(alpha=0.2 * len(rows), fit_intercept=False).fit(rows, [*y, *means.values()])
    np.testing.assert_allclose(y @ least_squares(LABELLED, UNLABELLED, 3, 0.2), ridge.coef_, rtol=1e-9)


def test_ladders_tell_every_cell_from_every_other():
    trees = ladders(MIXED, None, np.zeros((1, 1), np.uint8))
    assert (trees.n_trees, trees.depth) == (4, 5)  # x has 18 cells
    for j, n_cells in enumerate(MIXED.n_cells):
        cells = np.zeros((n_cells, 3), np.uint8)
        cells[:, j] = np.arange(n_cells)
        assert len(set(find_leaves(trees, cells)[j])) == n_cells
    coarse = ladders(MIXED, 1, np.zeros((1, 1), np.uint8))
    assert coarse.threshold[:3, 0].tolist() == [8, 2, 2]


def test_terms_are_standardised_and_unknown_values_are_the_mean():
    X, _ = mixed_table()
    cells = MIXED.encode_features(X)
    trees = ladders(MIXED, None, np.zeros((1, 1), np.uint8))
    rows = Terms.of(trees, cells, MIXED).rows(find_leaves(trees, cells))
    assert rows.shape == (400, 1 + 1 + 5 + 1)  # two numbers, a term per category, a constant
    known = cells[:, 0] < 16
    assert rows[known, 0].mean() == pytest.approx(0, abs=0.01)
    assert rows[known, 0].std() == pytest.approx(1, abs=0.01)
    assert (rows[~known, 0] == 0).all()
    np.testing.assert_array_equal(rows[:, 2:7].sum(axis=1), 1)
    np.testing.assert_array_equal(rows[:, 7], 1)


def test_without_noise_the_forest_is_the_linear_predictor():
    X, truth = mixed_table()
    y = np.where(np.arange(400) % 3 == 0, truth, -1)
    with pytest.warns(PrivacyLeakWarning):
        model = TransductiveOutputPerturbationClassifier(
            epsilon=np.inf, schema=MIXED, n_neighbors=3, regularization=0.05, random_state=0
        ).fit(X, y)
    cells = MIXED.encode_features(X)
    rows = Terms.of(model.trees_, cells, MIXED).rows(find_leaves(model.trees_, cells))
    known = y >= 0
    weights = least_squares(rows[known], rows[~known], 3, 0.05).T @ np.eye(3)[y[known]]
    scores = rows @ weights
    gap = np.diff(np.sort(scores, axis=1)[:, -2:])[:, 0]
    clear = gap > 0.02  # rounding the matrix moves scores by less
    assert clear.mean() > 0.9
    np.testing.assert_array_equal(model.predict(X)[clear], scores.argmax(axis=1)[clear])
    np.testing.assert_array_equal(model.transduction_, model.predict(X[~known]))
    assert model.score(X, truth) > 0.8


# --- privacy ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("classes", [[0, 1], [0, 1, 2]])
def test_no_changed_label_costs_more_than_epsilon(classes):
    """All changes of one label of 60 rows: rate times the L1 change of the weights before noise."""
    rng = np.random.default_rng(4)
    X, y = rng.random((60, 2)), rng.integers(0, len(classes), 60)
    y[::3] = -1
    declared = {"bounds": (0, 1), "classes": classes}
    model = TransductiveOutputPerturbationClassifier(epsilon=1.0, **declared).fit(X, y)
    cells, known = model.schema_.encode_features(X), y >= 0
    rows = Terms.of(model.trees_, cells, model.schema_).rows(find_leaves(model.trees_, cells))
    matrix = whole_columns(least_squares(rows[known], rows[~known], 5, 0.3)).astype(int)
    released = slice(1, None) if len(classes) == 2 else slice(None)  # the first class follows
    losses = []
    for row, label in product(range(known.sum()), classes):
        changed = y[known].copy()
        changed[row] = label
        moved = (matrix.T @ np.eye(3, dtype=int)[changed] - matrix.T @ np.eye(3, dtype=int)[y[known]])[
            :, : len(classes)
        ]
        losses.append(leaf_rate(model) * np.abs(moved[:, released]).sum())
    assert 0.999 <= max(losses) <= 1 + 1e-6
    assert np.abs(matrix).sum(axis=1).max() == pytest.approx(COLUMN_NORM, abs=len(matrix[0]))


def test_everything_but_the_weights_follows_from_features():
    X, truth = mixed_table()
    noise, shapes = [], []
    for labels in (truth, 2 - truth):
        y = np.where(np.arange(400) % 3 == 0, labels, -1)
        model = TransductiveOutputPerturbationClassifier(schema=MIXED).fit(X, y)
        noise.append(model.noise_scales_)
        shapes.append(model.trees_.threshold)
    assert noise[0] == noise[1]
    np.testing.assert_array_equal(*shapes)


ONE_LEAF = TransductiveOutputPerturbationClassifier(
    epsilon=1.0, schema=Schema({"x": Numeric(0, 1, bins=2)}, Classes([0, 1, 2])), max_depth=0
)


def test_the_auditor_passes_it_and_catches_noise_for_a_shorter_column(monkeypatch):
    """Seeded, at alpha = 1e-6: the noise is made for a sixteenth of the matrix."""
    options = {"runs": 600, "random_state": 1, "progress": False}
    assert not audit(ONE_LEAF, "one row alone", **options).violation
    honest = Curator.label_sums

    def too_little(curator, pool, weights, share=1, query=None):
        answer = honest(curator, pool, weights // 16, share, query)
        rest = np.zeros((curator._n_rows(), weights.shape[1]), np.int32)
        rest[curator._rows.is_labelled()] = weights - weights // 16
        return answer._replace(values=answer.values + curator._rows.fold(LabelSums(curator._grid, rest)))

    monkeypatch.setattr(Curator, "label_sums", too_little)
    assert audit(ONE_LEAF, "one row alone", **options).violation


# --- as published ----------------------------------------------------------------------------------------


def cube(n_features, n_classes=2):
    return Domain(np.zeros(n_features), np.ones(n_features), np.zeros(n_features, int), n_classes=n_classes)


def learnt(X, signs, unlabelled, k, strength):
    """Weights before noise, and how many rows they were learnt from."""
    domain = cube(X.shape[1])
    known, others = unit_rows(X, domain), unit_rows(unlabelled, domain)
    other, one = mutual_neighbours(known, others, k)
    votes = np.bincount(other, signs[one], minlength=len(others))
    spoken_for = np.unique(other)
    rows = np.concatenate([known, others[spoken_for]])
    labels = np.concatenate([signs, np.where(votes[spoken_for] > 0, 1.0, -1.0)])
    return minimum(rows, labels, strength), len(rows)


def test_the_minimum_is_one():
    rows, signs = RNG.normal(size=(50, 4)), RNG.choice([-1.0, 1.0], 50)
    w = minimum(rows, signs, 0.1)
    gradient = 0.1 * w - (rows * (signs / (1 + np.exp(signs * (rows @ w))))[:, None]).mean(axis=0)
    np.testing.assert_allclose(gradient, 0, atol=1e-10)


def test_the_bound_of_the_original_covers_a_changed_label():
    rng = np.random.default_rng(5)
    X, unlabelled, signs = rng.random((30, 2)), rng.random((60, 2)), rng.choice([-1.0, 1.0], 30)
    w, n = learnt(X, signs, unlabelled, 3, 0.1)
    for row in range(30):
        changed, _ = learnt(X, np.where(np.arange(30) == row, -signs, signs), unlabelled, 3, 0.1)
        assert np.linalg.norm(changed - w) <= noise_scale(3, n, 0.1, epsilon=1.0)


def test_the_bound_of_the_original_does_not_cover_a_row():
    """A labelled row in the middle of a star holds forty unlabelled rows back from their other neighbours.

    The noise has density exp(-|b| / s) / s**d up to a constant; the log-ratio is taken at the weights that
    are learnt without the row.
    """
    star = np.concatenate([np.eye(20), -np.eye(20)])
    unlabelled, around, middle = 0.9 + 0.01 * star, 0.9 + 0.025 * star, np.full((1, 20), 0.9)
    bulk, signs = np.zeros((2000, 20)), np.tile([1.0, -1.0], 1000)
    (without, n), (with_it, n_with) = (
        learnt(np.concatenate([rows, bulk]), np.concatenate([np.ones(len(rows)), signs]), unlabelled, 1, 1.0)
        for rows in (around, np.concatenate([around, middle]))
    )
    assert (n, n_with) == (2080, 2042)
    scale, scale_with = noise_scale(1, n, 1.0, 1.0), noise_scale(1, n_with, 1.0, 1.0)
    loss = np.linalg.norm(without - with_it) / scale_with + 21 * np.log(scale_with / scale)
    (broken,) = BROKEN_PROMISES["output_perturbation"]
    assert keeps_word(loss, broken)


@pytest.mark.parametrize("n_classes", [1, 2, 4])
def test_the_original_learns_with_a_large_budget(n_classes):
    rng = np.random.default_rng(6)
    X = rng.random((900, 3))
    y = np.minimum((X[:, 0] * n_classes).astype(int), n_classes - 1)
    options = {"n_neighbors": 3, "neighbours": partial(mutual_neighbours, n_neighbors=3)}
    predictor = output_perturbation(
        X[:300],
        y[:300],
        cube(3, n_classes),
        rng,
        epsilon=1e6,
        unlabelled=X[300:],
        regularization=1e-3,
        **options,
    )
    assert (predictor.votes(X).argmax(axis=1) == y).mean() > 0.7
    nobody = output_perturbation(
        X[:0], y[:0], cube(3, n_classes), rng, epsilon=1.0, unlabelled=X[:0], regularization=0.1, **options
    )
    assert nobody.votes(X).shape == (900, n_classes)
    with pytest.raises(ValueError, match="classification"):
        output_perturbation(X, y, cube(3, 0), rng, epsilon=1.0, unlabelled=X, regularization=0.1, **options)


def test_the_original_adds_noise_of_the_stated_length():
    """The length of the noise is a gamma variable of shape d: mean d s, relative standard error 0.02."""
    rng = np.random.default_rng(7)
    X, y = np.full((50, 3), 0.5), np.arange(50) % 2
    options = {"n_neighbors": 2, "neighbours": partial(mutual_neighbours, n_neighbors=2)}
    lengths = [
        np.linalg.norm(
            output_perturbation(
                X, y, cube(3), rng, epsilon=1.0, unlabelled=X[:0], regularization=0.1, **options
            ).weights
        )
        for _ in range(600)
    ]
    assert np.mean(lengths) == pytest.approx(4 * noise_scale(2, 50, 0.1, 1.0), rel=0.12)
