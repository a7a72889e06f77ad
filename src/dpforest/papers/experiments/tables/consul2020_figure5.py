"""Consul and Williamson 2020, Figure 5: errors on Appliances with all rows in every tree."""

from dpforest.papers.experiments.tables._median_forests import error_panels
from dpforest.papers.experiments.tables._shared import CONSUL_2020
from dpforest.papers.experiments.tables.consul2020_figure3 import METHODS

EXPERIMENTS = error_panels(
    "consul2020-figure5", CONSUL_2020("Figure 5"), METHODS, n_features=10, disjoint=False
)
