"""Consul and Williamson 2020, Figure 3: errors on Appliances by depth, number of trees and budget."""

from dpforest.benchmarks.tables._median_forests import error_panels
from dpforest.benchmarks.tables._shared import CONSUL_2020

METHODS = ("RF", "ERT", "Median", "DP-ERT", "DiPriMe 2020")

EXPERIMENTS = error_panels("001-figure3", CONSUL_2020("Figure 3"), METHODS, n_features=10)
