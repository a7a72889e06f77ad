"""Consul and Williamson 2021, Figure 5: errors on Appliances with all rows in every tree."""

from dpforest.papers.experiments.tables._median_forests import error_panels
from dpforest.papers.experiments.tables._shared import CONSUL_2021
from dpforest.papers.experiments.tables.consul2021_figure1 import METHODS

EXPERIMENTS = error_panels(
    "consul2021-figure5", CONSUL_2021("Figure 5"), METHODS, n_features=5, disjoint=False
)
