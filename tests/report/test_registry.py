"""The record for OpenDP's registry of deployments: valid, complete for tier 3, and true."""

import json

import jsonschema
import numpy as np
import pytest
import yaml

import dpforest
from dpforest.report import collect, registry_record
from tests.report.registry_schema import SCHEMA, TIER_3

ABOUT = {
    "name": "Falls <on> wards",
    "curator": "A hospital",
    "curator_type": "Nonprofit",
    "region": "Norway",
    "use": "planning: who needs help?",
    "published": "2026-11-16",
    "author": "A. Meyer",
}
KINDS = [
    {},
    {"delta": 1e-6},
    {"neighboring": "replace_one"},
    {"max_rows_per_person": 3},
]


def check(record):
    jsonschema.validate(
        record, SCHEMA, jsonschema.Draft202012Validator, format_checker=jsonschema.FormatChecker()
    )


@pytest.fixture(params=KINDS, ids=["pure", "approximate", "replaced", "three rows"])
def facts(request):
    X = np.random.default_rng(0).random((500, 2))
    model = dpforest.RandomDecisionTreesClassifier(
        2, max_depth=2, epsilon=1.5, bounds=(0, 1), classes=[0, 1], **request.param
    )
    return collect(model.fit(X, X[:, 0] > 0.5), (X, X[:, 0] > 0.5))


def test_the_record_is_valid_and_complete(facts):
    text = registry_record(facts, **ABOUT, sector="Healthcare")
    record = json.loads(text)
    assert yaml.safe_load(text) == record  # the registry reads YAML
    check(record)
    assert record["url_slug"] == "falls-on-wards-a-hospital-2026"
    deployment = record["deployment"]
    for part, fields in TIER_3.items():
        assert all(deployment[part].get(field) for field in fields), part
    assert deployment["administrative"]["tier"] == 3


def test_it_says_what_the_model_promises(facts):
    deployment = json.loads(registry_record(facts, **ABOUT))["deployment"]
    told = deployment["privacy_loss"]
    assert told["privacy_parameters"]["epsilon"] == facts.guarantee.epsilon
    assert told["privacy_parameters"]["delta"] == facts.guarantee.delta
    assert told["privacy_unit"] == facts.guarantee.unit
    pure = facts.guarantee.delta == 0
    assert deployment["dp_variant"]["variant_name"] == ("Pure DP" if pure else "Approximate DP")
    assert ("rho" in told["privacy_parameters"]) == (not pure)
    assert all(event.mechanism in deployment["implementation"]["mechanisms"] for event in facts.ledger)
    assert "accuracy" in deployment["implementation"]["utility"]


@pytest.mark.parametrize(
    "wrong", [{"published": "16.11.2026"}, {"curator_type": "Hospital"}, {"sector": "Health"}]
)
def test_the_schema_finds_what_the_registry_would(facts, wrong):
    record = json.loads(registry_record(facts, **(ABOUT | wrong)))
    with pytest.raises(jsonschema.ValidationError):
        check(record)
