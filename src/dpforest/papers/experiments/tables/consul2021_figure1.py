"""Consul and Williamson 2021, Figure 1: errors on Appliances by depth, number of trees and budget."""

from dpforest.papers.experiments.tables._median_forests import error_panels
from dpforest.papers.experiments.tables._shared import CONSUL_2021

METHODS = ("RF", "ERT", "Median", "DP-ERT", "DiPriMe", "DiPriMeExp", "DiPriMeFlip")

EXPERIMENTS = error_panels("consul2021-figure1", CONSUL_2021("Figure 1"), METHODS, n_features=5)
