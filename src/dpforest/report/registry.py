"""The card's facts as a record for OpenDP's registry of deployments, all three tiers of its schema.

What only the owner can know (who publishes, what for, when) is given; everything else follows from the model.
The record is written as JSON, which every reader of YAML 1.2 reads.
"""

from __future__ import annotations

import json

from dpforest.report.facts import Facts, relation_in_words

_DOMAIN = "all tables with the declared columns, of any number of rows"
_ACTORS = (
    "The owner of the rows trains the model and is trusted with them. Everybody else sees the released model "
    "only, and is trusted with nothing."
)
_TUNING = (
    "None by this library: every value is encoded by itself against the declared schema, and parameters are "
    "formulas of public quantities and noisy answers."
)
_PLATFORM = (
    "Timing: the model is released once, after training; how long it took is not covered. Floating point: "
    "noise and choices are drawn exactly, from whole numbers and rational rates. Randomness: the operating "
    "system's generator. Access: rows have one owner in the program, which drops them before the release."
)


def registry_record(facts: Facts, *, name: str, curator: str, use: str, published: str, author: str) -> str:
    """Write the record.

    Parameters
    ----------
    facts : Facts
        Of a model that promises something.
    name, curator, use, published : str
        Name of the product, who publishes it, what for, and the day (YYYY-MM-DD).
    author : str
        Who writes the record.
    """
    promise, plan = facts.guarantee, facts.ledger.plan
    if not promise.is_proven:
        raise ValueError("This model promises nothing, so there is nothing to register.")
    pure = plan.currency == "pure"
    parameters = {"epsilon": promise.epsilon, "delta": promise.delta}
    if not pure:
        parameters["rho"] = float(plan.total)
    mechanisms = sorted({event.mechanism for event in facts.ledger})
    deployment = {
        "short_name": name,
        "data_curator": curator,
        "intended_use": use,
        "data_product_type": "machine learning model",
        "data_product_description": f"{facts.estimator}, {facts.n_trees} tree(s) of depth {facts.depth}",
        "publication_date": published,
        "dp_flavor": {
            "name": "Pure DP" if pure else "Approximate DP",
            "data_domain": _DOMAIN,
            "unprotected_quantities": "bounds, categories and classes, which were declared public",
        },
        "privacy_loss": {
            "privacy_unit": promise.unit,
            "privacy_unit_description": relation_in_words(promise),
            "privacy_parameters": parameters,
        },
        "model": {
            "model_type": "Central",
            "actors": _ACTORS,
            "release_type": "One-shot",
            "interactivity": "Non-interactive",
        },
        "additional_dp_information": {
            "post_processing": "predictions, importances and this record are made of released values",
            "composition": f"{len(facts.ledger)} queries, added up{'' if pure else ' in zCDP'}; nodes of one "
            "level hold disjoint rows and share one charge",
        },
        "implementation": {
            "pre_processing_eda_hyperparameter_tuning": _TUNING,
            "mechanisms": f"{', '.join(mechanisms)}; dpforest {facts.versions[0][1]}. {_PLATFORM}",
            "justification": "Proofs and tests: docs/explanation/privacy.md and claims.md of dpforest.",
        },
    }
    record = {"approved": False, "registry_author": author, "deployment": deployment}
    return json.dumps(record, indent=1) + "\n"
