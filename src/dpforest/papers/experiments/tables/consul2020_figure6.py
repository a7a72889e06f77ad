"""Consul and Williamson 2020, Figure 6: what errors of DiPriMe depend on."""

from dpforest.papers.experiments.tables._median_forests import hyperparameter_panels
from dpforest.papers.experiments.tables._shared import CONSUL_2020

EXPERIMENTS = hyperparameter_panels("consul2020-figure6", CONSUL_2020("Figure 6"), "DiPriMe 2020")
