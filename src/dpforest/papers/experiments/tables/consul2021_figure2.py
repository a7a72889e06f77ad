"""Consul and Williamson 2021, Figure 2: accuracy on Banknote by budget."""

from dpforest.papers.experiments.tables._median_forests import accuracy_by_budget
from dpforest.papers.experiments.tables._shared import CONSUL_2021

METHODS = ("RF", "ERT", "Median", "DP-DF", "DP-RF", "DP-ERT", "DiPriMe", "DiPriMeExp", "DiPriMeFlip")

EXPERIMENTS = (accuracy_by_budget("consul2021-figure2", CONSUL_2021("Figure 2"), METHODS),)
