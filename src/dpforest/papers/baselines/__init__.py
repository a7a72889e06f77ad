"""The systems that the five papers compare with, under their authors' names, on the shared `fit`.

Each is a page of choices from `dpforest._trees` and the curator, rigorous by default; `as_published=True`
runs
the original where it is not private. `docs/explanation/baselines.md` has the table of all of them.

Trees whose splits ask the rows: `friedman_schuster` (2010), `patil_singh` (2014), `fletcher_islam` (2015),
`rana` (2015), `max_tree` (Liu and others 2018), `xin` (2019). Random trees: `jpw` (Jagannathan,
Pillaipakkamnatt and Wright 2012), `semi_supervised_rdt` (Jagannathan, Monteleoni and Pillaipakkamnatt 2013).
Neighbours and a linear predictor: `transductive_output_perturbation` (Long and Sakuma 2017).
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dpforest.papers.baselines.fletcher_islam import FletcherIslamForestClassifier
    from dpforest.papers.baselines.friedman_schuster import FriedmanSchusterTreeClassifier
    from dpforest.papers.baselines.jpw import JPWForestClassifier
    from dpforest.papers.baselines.max_tree import MaxTreeClassifier
    from dpforest.papers.baselines.patil_singh import PatilSinghForestClassifier, PatilSinghForestRegressor
    from dpforest.papers.baselines.rana import RanaForestClassifier
    from dpforest.papers.baselines.semi_supervised_rdt import SemiSupervisedRDTClassifier
    from dpforest.papers.baselines.transductive_output_perturbation import (
        TransductiveOutputPerturbationClassifier,
    )
    from dpforest.papers.baselines.xin import XinForestClassifier

__all__ = [
    "FletcherIslamForestClassifier",
    "FriedmanSchusterTreeClassifier",
    "JPWForestClassifier",
    "MaxTreeClassifier",
    "PatilSinghForestClassifier",
    "PatilSinghForestRegressor",
    "RanaForestClassifier",
    "SemiSupervisedRDTClassifier",
    "TransductiveOutputPerturbationClassifier",
    "XinForestClassifier",
]

_MODULES = {
    "FletcherIslamForestClassifier": "fletcher_islam",
    "FriedmanSchusterTreeClassifier": "friedman_schuster",
    "JPWForestClassifier": "jpw",
    "MaxTreeClassifier": "max_tree",
    "PatilSinghForestClassifier": "patil_singh",
    "PatilSinghForestRegressor": "patil_singh",
    "RanaForestClassifier": "rana",
    "SemiSupervisedRDTClassifier": "semi_supervised_rdt",
    "TransductiveOutputPerturbationClassifier": "transductive_output_perturbation",
    "XinForestClassifier": "xin",
}


def __getattr__(name: str) -> Any:
    """Load an estimator on first use; nobody needs all of them."""
    if name in _MODULES:
        return getattr(import_module(f"dpforest.papers.baselines.{_MODULES[name]}"), name)
    raise AttributeError(f"module 'dpforest.papers.baselines' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
