"""The papers' algorithms as they were published, flaws included. NOTHING HERE IS PRIVATE.

This room exists so that published tables can be reproduced and broken promises shown. It stands apart: it
imports numpy and the schema only, draws floating-point noise from numpy generators, keeps no ledger and pays
nothing. Estimators reach it with `as_published=True` alone, warn with the reasons listed here, and void their
guarantee.

Modules, in the order of their dependence: `domain` (public facts and raw rows), `draws` (random choices),
`trees`, `leaves` and `forest` (what all but one form share), then one module per paper: `median_splits` and
`median_forest` (Consul and Williamson, 2020 and 2021), `smooth_sensitivity` (Fletcher and Islam, 2017),
`random_trees` (Bojarski and others, 2014), `partitioning` (Huang, Lei and Kaban, 2022), and one per system
that these compare with: `jpw` (Jagannathan and others, 2012), `semi_supervised_rdt` (Jagannathan and others,
2013), `linear_predictor` (Long and Sakuma, 2017), `extra_trees` (DP-ERT of Consul and Williamson),
`greedy_tree` (Friedman and Schuster, 2010); on the trees of `multiway`, `private_random_forest` (Patil and
Singh, 2014), `bootstrap_forests` (Rana and others, 2015; Liu and others, 2018), `local_sensitivity` (Fletcher
and Islam, 2015) and `greedy_smooth` (Xin and others, 2019). `broken_promises` says what each gets wrong.

All fits have the form `fit(X, y, domain, rng, *, epsilon, ...)` and return a `PublishedForest`.
"""

from dpforest.papers.published.bootstrap_forests import maximal_vote_forest, relaxed_forest
from dpforest.papers.published.broken_promises import BROKEN_PROMISES, BrokenPromise, promises, reasons
from dpforest.papers.published.domain import Domain, domain_of, raw_matrix, raw_target
from dpforest.papers.published.extra_trees import private_extra_trees
from dpforest.papers.published.forest import PublishedForest
from dpforest.papers.published.greedy_smooth import greedy_smooth_forest
from dpforest.papers.published.greedy_tree import greedy_tree
from dpforest.papers.published.jpw import noisy_count_forest
from dpforest.papers.published.linear_predictor import output_perturbation
from dpforest.papers.published.local_sensitivity import local_sensitivity_forest
from dpforest.papers.published.median_forest import dipri_me
from dpforest.papers.published.partitioning import partitioning_ensemble, transductive_ensemble
from dpforest.papers.published.private_random_forest import private_random_forest
from dpforest.papers.published.random_trees import random_decision_trees
from dpforest.papers.published.semi_supervised_rdt import semi_supervised_random_trees
from dpforest.papers.published.smooth_sensitivity import smooth_sensitivity_forest

__all__ = [
    "BROKEN_PROMISES",
    "BrokenPromise",
    "Domain",
    "PublishedForest",
    "dipri_me",
    "domain_of",
    "greedy_smooth_forest",
    "greedy_tree",
    "local_sensitivity_forest",
    "maximal_vote_forest",
    "noisy_count_forest",
    "output_perturbation",
    "partitioning_ensemble",
    "private_extra_trees",
    "private_random_forest",
    "promises",
    "random_decision_trees",
    "raw_matrix",
    "raw_target",
    "reasons",
    "relaxed_forest",
    "semi_supervised_random_trees",
    "smooth_sensitivity_forest",
    "transductive_ensemble",
]
