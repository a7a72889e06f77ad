"""Consul and Williamson 2020, Figure 7: accuracy on Banknote by budget with all rows in every tree."""

from dpforest.papers.experiments.tables._median_forests import accuracy_by_budget
from dpforest.papers.experiments.tables._shared import CONSUL_2020

METHODS = ("RF", "ERT", "DP-DF", "DP-ERT", "DiPriMe 2020")

EXPERIMENTS = (accuracy_by_budget("consul2020-figure7", CONSUL_2020("Figure 7"), METHODS, disjoint=False),)
