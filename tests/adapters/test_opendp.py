"""A forest in OpenDP's terms: its map, its compositors, and who pays."""

import numpy as np
import opendp.prelude as dp
import pytest

from dpforest import (
    DiPriMeForestClassifier,
    PrivateForestClassifier,
    SemiSupervisedPartitioningEnsembleClassifier,
)
from dpforest.adapters import opendp_domain, opendp_measurement
from dpforest.privacy import BudgetAccountant, PrivacyError, epsilon_to_rho

dp.enable_features("contrib", "honest-but-curious")
X = np.random.default_rng(0).random((400, 2))
Y = (X[:, 0] > 0.5).astype(int)
FOREST = PrivateForestClassifier(epsilon=0.5, bounds=(0, 1), classes=[0, 1])


def other(**parameters):
    return PrivateForestClassifier(**{"epsilon": 0.5, "bounds": (0, 1), "classes": [0, 1]} | parameters)


def test_the_map_says_what_rows_cost():
    assert [opendp_measurement(FOREST).map(k) for k in (0, 1, 3)] == [0, 0.5, 1.5]
    assert [opendp_measurement(other(max_rows_per_person=2)).map(k) for k in (1, 2, 3)] == [0.5, 0.5, 1.0]
    zcdp, rho = opendp_measurement(other(delta=1e-6)), float(epsilon_to_rho(0.5, 1e-6))
    assert [zcdp.map(k) for k in (1, 3)] == pytest.approx([rho, 9 * rho])
    assert zcdp.map(1) >= rho
    curve = dp.c.make_zCDP_to_approxDP(zcdp).map(1)
    assert curve.epsilon(1e-6) == pytest.approx(0.5, rel=0.01)
    assert opendp_measurement(other(neighboring="replace_one")).input_metric == dp.change_one_distance()


def test_a_context_keeps_its_budget_and_releases_models():
    context = dp.Context.compositor(
        data=(X, Y),
        privacy_unit=dp.unit_of(contributions=1),
        privacy_loss=dp.loss_of(epsilon=1.0),
        split_evenly_over=2,
        domain=opendp_domain(),
    )
    with BudgetAccountant(epsilon=0.1) as accountant:  # not asked: OpenDP pays
        model = context.queryable(opendp_measurement(FOREST))
    assert len(accountant) == 0
    assert model.predict(X).shape == (400,)
    assert model.guarantee_.epsilon == 0.5
    with pytest.raises(dp.OpenDPException):
        context.queryable(opendp_measurement(other(epsilon=0.6)))
    context.queryable(opendp_measurement(DiPriMeForestClassifier(epsilon=0.5, bounds=(0, 1), classes=[0, 1])))
    with pytest.raises(dp.OpenDPException):
        context.queryable(opendp_measurement(FOREST))


def test_what_promises_nothing_is_no_measurement():
    for model in (other(random_state=0), other(epsilon=np.inf), other(bounds=None, on_leak="warn")):
        with pytest.raises(PrivacyError, match="promises nothing"):
            opendp_measurement(model)
    labels = SemiSupervisedPartitioningEnsembleClassifier(
        bounds=(0, 1), classes=[0, 1], feature_privacy=False
    )
    with pytest.raises(PrivacyError, match="labels alone"):
        opendp_measurement(labels)
