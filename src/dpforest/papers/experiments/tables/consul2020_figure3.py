"""Consul and Williamson 2020, Figure 3: errors on Appliances by depth, number of trees and budget."""

from dpforest.papers.experiments.tables._median_forests import error_panels
from dpforest.papers.experiments.tables._shared import CONSUL_2020

METHODS = ("RF", "ERT", "Median", "DP-ERT", "DiPriMe 2020")

EXPERIMENTS = error_panels("consul2020-figure3", CONSUL_2020("Figure 3"), METHODS, n_features=10)
