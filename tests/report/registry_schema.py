"""The schema of OpenDP's registry of deployments, written down from `schemas/deployments-schema.yaml`.

Of opendp/deployments-registry-data at commit 057e5d81: names, types, what is required and which words are
allowed, without the explanations. Sources of evidence, which records of ours do not have, are left out.
"""

TEXT = {"type": "string"}


def words(*allowed):
    return {"type": "string", "enum": list(allowed)}


def thing(required, **properties):
    return {
        "type": "object",
        "additionalProperties": False,
        "required": required.split(),
        "properties": properties,
    }


CURATOR = thing(
    "data_curator_name data_curator_type",
    data_curator_name=TEXT,
    data_curator_type=words("Government", "Industry", "Nonprofit"),
)
BASIC = thing(
    "name data_curators description intended_use data_product_type data_product_region publication_date",
    name=TEXT,
    data_curators={"type": "array", "minItems": 1, "items": CURATOR},
    description=TEXT,
    intended_use=TEXT,
    data_product_type=words(
        "Summary statistics",
        "Machine learning model",
        "Dataset",
        "Synthetic data",
        "Interactive API",
        "SQL queries",
    ),
    data_product_region=TEXT,
    data_product_sector=words("Technology", "Healthcare", "Education", "Government", "Energy", "Finance"),
    publication_date={"type": "string", "format": "date"},
)
VARIANT = thing(
    "",
    variant_name=words("Pure DP", "Approximate DP", "Zero-concentrated DP", "Renyi DP", "Custom"),
    data_domain=TEXT,
    unprotected_quantities=TEXT,
)
PARAMETERS = thing(
    "", epsilon={"type": "number"}, delta={"type": ["number", "string"]}, rho={"type": "number"}
)
LOSS = thing(
    "",
    privacy_unit=TEXT,
    privacy_unit_details=TEXT,
    number_of_privacy_units={"type": "integer"},
    privacy_parameters=PARAMETERS,
    privacy_parameters_details={},
)
MODEL = thing(
    "",
    model_name=words("Local", "Central", "Shuffle", "Federated", "Varies"),
    model_name_details=TEXT,
    trust_assumptions=TEXT,
    actors={},
    release_type=words("One release", "Many releases"),
    release_type_details=TEXT,
    data_source_type=words("Static", "Dynamic"),
    data_source_type_details=TEXT,
    access_type=words("Interactive", "Non-interactive"),
    access_type_details=TEXT,
)
IMPLEMENTATION = thing(
    "",
    preprocessing_and_hyperparameter_tuning=TEXT,
    mechanisms=TEXT,
    composition=TEXT,
    post_processing=TEXT,
    justification=TEXT,
    utility={},
    additional_information={},
)
ADMINISTRATIVE = thing(
    "status registry_authors tier",
    status=words(
        "Converted",
        "Draft",
        "Pending",
        "Changes Required",
        "Approved",
        "Approved (Update Requested)",
        "Approved (Pending)",
    ),
    registry_authors={"type": "array", "items": TEXT, "minItems": 1},
    tier={"type": "integer", "enum": [1, 2, 3]},
)
DEPLOYMENT = thing(
    "basic administrative",
    basic=BASIC,
    dp_variant=VARIANT,
    privacy_loss=LOSS,
    deployment_model=MODEL,
    implementation=IMPLEMENTATION,
    administrative=ADMINISTRATIVE,
)
SCHEMA = thing("url_slug deployment", url_slug=TEXT, deployment=DEPLOYMENT)
# what the registry asks for in tier 3, beside what is required of everybody
TIER_3 = {
    "dp_variant": {"variant_name", "data_domain", "unprotected_quantities"},
    "privacy_loss": {"privacy_unit", "privacy_unit_details", "privacy_parameters"},
    "deployment_model": {
        "model_name",
        "trust_assumptions",
        "release_type",
        "data_source_type",
        "access_type",
        "access_type_details",
    },
    "implementation": {
        "preprocessing_and_hyperparameter_tuning",
        "mechanisms",
        "composition",
        "post_processing",
        "justification",
    },
}
