"""What may be asked about private rows besides a model: bounds, categories, and how good a model is.

Every answer is noisy and charged, and says what it cost. `magnitudes` is the public grid that bounds are
looked for on, `bounds` what is made of the noisy counts, `categories` finds values, `schemas` asks for them;
`metrics` says what is counted about a model, `scores` asks for it; `paying` charges.
"""

from dpforest.estimates.categories import EstimatedCategories
from dpforest.estimates.schemas import EstimatedColumn, EstimatedSchema, estimate_schema
from dpforest.estimates.scores import PrivateScore, private_score

__all__ = [
    "EstimatedCategories",
    "EstimatedColumn",
    "EstimatedSchema",
    "PrivateScore",
    "estimate_schema",
    "private_score",
]
