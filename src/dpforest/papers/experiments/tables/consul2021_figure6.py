"""Consul and Williamson 2021, Figure 6: accuracy on Banknote by budget with all rows in every tree."""

from dpforest.papers.experiments.tables._median_forests import accuracy_by_budget
from dpforest.papers.experiments.tables._shared import CONSUL_2021

METHODS = ("RF", "ERT", "DP-DF", "DP-ERT", "DiPriMe", "DiPriMeExp", "DiPriMeFlip")

EXPERIMENTS = (accuracy_by_budget("consul2021-figure6", CONSUL_2021("Figure 6"), METHODS, disjoint=False),)
