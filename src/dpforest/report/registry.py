"""The card's facts as a record for OpenDP's registry of deployments, after its schema of autumn 2026, tier 3.

What only the owner can know (who publishes, what for, when) is given; everything else follows from the model.
The record is written as JSON, which every reader of YAML 1.2 reads.
"""

from __future__ import annotations

import json
import re

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


def registry_record(
    facts: Facts,
    *,
    name: str,
    curator: str,
    curator_type: str,
    region: str,
    use: str,
    published: str,
    author: str,
    sector: str | None = None,
) -> str:
    """Write the record.

    Parameters
    ----------
    facts : Facts
        Of a model that promises something.
    name, use : str
        Name of the model, and what it is for.
    curator, curator_type : str
        Who publishes it: "Government", "Industry" or "Nonprofit".
    region : str
        Whose people, or whose law.
    published : str
        The day, YYYY-MM-DD.
    author : str
        Who writes the record.
    sector : str, optional
        "Technology", "Healthcare", "Education", "Government", "Energy" or "Finance".

    Examples
    --------
    >>> import numpy as np
    >>> from dpforest import RandomDecisionTreesClassifier
    >>> from dpforest.report import collect, registry_record
    >>> X = np.random.default_rng(0).random((500, 2))
    >>> model = RandomDecisionTreesClassifier(1, max_depth=1, bounds=(0, 1), classes=[0, 1])
    >>> facts = collect(model.fit(X, X[:, 0] > 0.5))
    >>> about = dict(name="Falls", curator="A hospital", curator_type="Nonprofit", region="Norway")
    >>> text = registry_record(facts, **about, use="planning", published="2026-11-16", author="A. Meyer")
    >>> "Pure DP" in text
    True
    """
    promise = facts.guarantee
    if not promise.is_proven:
        raise ValueError("This model promises nothing, so there is nothing to register.")
    basic = {
        "name": name,
        "data_curators": [{"data_curator_name": curator, "data_curator_type": curator_type}],
        "description": f"{facts.estimator}, {facts.n_trees} tree(s) of depth {facts.depth}",
        "intended_use": use,
        "data_product_type": "Machine learning model",
        "data_product_region": region,
        "publication_date": published,
    }
    if sector is not None:
        basic["data_product_sector"] = sector
    deployment = {
        "basic": basic,
        "dp_variant": {
            "variant_name": "Pure DP" if facts.ledger.plan.currency == "pure" else "Approximate DP",
            "data_domain": _DOMAIN,
            "unprotected_quantities": "Bounds, categories and classes, which were declared public.",
        },
        "privacy_loss": _privacy_loss(facts),
        "deployment_model": {
            "model_name": "Central",
            "trust_assumptions": _ACTORS,
            "release_type": "One release",
            "release_type_details": "Other releases from the same rows add to this one.",
            "data_source_type": "Static",
            "access_type": "Non-interactive",
            "access_type_details": "The model is a file; nobody but the owner asks the rows anything.",
        },
        "implementation": _implementation(facts),
        "administrative": {"status": "Draft", "registry_authors": [author], "tier": 3},
    }
    slug = re.sub(r"[^a-z0-9]+", "-", f"{name} {curator} {published[:4]}".lower()).strip("-")
    text = json.dumps({"url_slug": slug, "deployment": deployment}, indent=1)
    # 1e-06 is a number in JSON and a text in YAML 1.1, which wants a point
    return re.sub(r'("(?:epsilon|delta|rho)": \d+)(e-\d+)', r"\1.0\2", text) + "\n"


def _privacy_loss(facts: Facts) -> dict[str, object]:
    promise, plan = facts.guarantee, facts.ledger.plan
    parameters = {"epsilon": promise.epsilon, "delta": promise.delta}
    details = (
        "Epsilon holds for all queries together; nothing else was released about the rows by this model."
    )
    if plan.currency != "pure":
        parameters["rho"] = float(plan.total)
        details += " Queries were added up in zCDP (rho), and converted once."
    return {
        "privacy_unit": promise.unit,
        "privacy_unit_details": f"Compared are {relation_in_words(promise)}.",
        "privacy_parameters": parameters,
        "privacy_parameters_details": details,
    }


def _implementation(facts: Facts) -> dict[str, str]:
    pure = facts.ledger.plan.currency == "pure"
    mechanisms = ", ".join(sorted({event.mechanism for event in facts.ledger}))
    told = {
        "preprocessing_and_hyperparameter_tuning": _TUNING,
        "mechanisms": f"{mechanisms}; dpforest {facts.versions[0][1]}. {_PLATFORM}",
        "composition": f"{len(facts.ledger)} queries, added up{'' if pure else ' in zCDP'}; nodes of one "
        "level hold disjoint rows and share one charge.",
        "post_processing": "Predictions, importances and this record are made of released values.",
        "justification": "Proofs and tests: docs/explanation/privacy.md and claims.md of dpforest.",
    }
    if facts.scores:
        told["utility"] = "; ".join(
            f"{score.metric} {score.value:.4g} on {score.group}"
            + (f" ({score.price})" if score.price else "")
            for score in facts.scores
        )
    return told
