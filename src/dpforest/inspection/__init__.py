"""Looking at finished forests: numbers and plots from released values or from rows that are not private."""

from dpforest.inspection.balance import leaf_occupancy, left_fractions, plot_balance
from dpforest.inspection.displays import BudgetDisplay, ImportanceDisplay

__all__ = ["BudgetDisplay", "ImportanceDisplay", "leaf_occupancy", "left_fractions", "plot_balance"]
