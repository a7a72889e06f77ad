"""Consul and Williamson 2021, Figure 7: what errors of DiPriMeExp depend on."""

from dpforest.papers.experiments.tables._median_forests import hyperparameter_panels
from dpforest.papers.experiments.tables._shared import CONSUL_2021

EXPERIMENTS = hyperparameter_panels("consul2021-figure7", CONSUL_2021("Figure 7"), "DiPriMeExp")
