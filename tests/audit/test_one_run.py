"""The one-run auditor: its statistics, and where it looks."""

import numpy as np
import pytest

import dpforest
from dpforest.audit import audit_one_run
from dpforest.audit.one_run import p_value_of, refuted_epsilon

BOUNDS = ([0.0] * 9, [1.0] * 9)


def histogram(scale):
    """A table of noisy counts, one per canary: nothing but the noise matters."""

    def release(X, y, random_state):
        cells = np.floor(X[:, 0] * 1e6).astype(int)
        counts = dict(zip(*np.unique(cells, return_counts=True), strict=True))
        return counts, np.random.default_rng(random_state), scale

    return release


def guess(output, X, y, other):
    counts, rng, scale = output
    cells = np.floor(X[:, 0] * 1e6).astype(int)
    noisy = np.array([counts.get(cell, 0) for cell in cells]) + rng.laplace(0, scale, len(X))
    return noisy - 0.5


def run(scale, **options):
    subject = histogram(scale)
    schema = dpforest.schema.Schema.from_bounds((0, 1), n_features=1, classes=[0, 1])
    return audit_one_run(
        subject, guess=guess, schema=schema, claim=1.0, n_canaries=4000, random_state=3, **options
    )


def test_enough_noise_passes_and_half_is_caught():
    kept, broken = run(1.0), run(0.5)
    assert 0.5 < kept.loss <= 1
    assert broken.violation
    assert (broken.how, broken.runs) == ("one run", 1)
    assert "p-value" in broken.note


def test_false_alarms_are_as_rare_as_stated():
    """Guesses that are right as often as the promise allows: 1000 audits at alpha = 0.05, seed fixed."""
    right = np.random.default_rng(0).binomial(300, 1 / (1 + np.exp(-1.0)), 1000)
    alarms = np.mean([p_value_of(v, 300, 1000, 1.0) <= 0.05 for v in right])
    assert 0.02 < alarms <= 0.06


def test_delta_weakens_the_test():
    assert p_value_of(95, 100, 1000, 1.0) < p_value_of(95, 100, 1000, 1.0, delta=1e-6)
    assert p_value_of(95, 100, 1000, 1.0, delta=0.5) == 1
    assert refuted_epsilon(95, 100, 1000, 1e-6, delta=1e-3) < refuted_epsilon(95, 100, 1000, 1e-6)
    assert refuted_epsilon(50, 100, 1000, 1e-6) == 0


@pytest.mark.parametrize(
    "model",
    [
        dpforest.RandomDecisionTreesClassifier(1, bounds=BOUNDS, classes=[0, 1], max_depth=12),
        dpforest.RandomDecisionTreesClassifier(1, delta=1e-9, bounds=BOUNDS, classes=[0, 1], max_depth=12),
        dpforest.RandomDecisionTreesRegressor(1, bounds=BOUNDS, target_bounds=(0, 1), max_depth=12),
        dpforest.RandomDecisionForestClassifier(1, bounds=BOUNDS, classes=[0, 1], max_depth=12),
        dpforest.TransductivePartitioningEnsembleClassifier(
            1, 1, bounds=BOUNDS, classes=[0, 1], max_depth=12
        ),
    ],
    ids=lambda model: type(model).__name__ + (", delta" if model.delta else ""),
)
def test_guesses_from_leaves(model):
    """At a huge epsilon the canaries are seen in the leaves; at the promised one they are not."""
    assert not audit_one_run(model, random_state=0).violation
    loud = model.__class__(**{**model.get_params(), "epsilon": 30.0})
    assert audit_one_run(loud, random_state=0).loss > 0.3
