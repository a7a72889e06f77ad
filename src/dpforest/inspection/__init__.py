"""Looking at finished forests: numbers and plots from released values or from rows that are not private."""

from dpforest.inspection.balance import leaf_occupancy, left_fractions, plot_balance
from dpforest.inspection.curves import CalibrationDisplay, EpsilonDisplay
from dpforest.inspection.displays import BudgetDisplay, ImportanceDisplay
from dpforest.inspection.shapes import ShapeDisplay
from dpforest.inspection.tree import TreeDisplay

__all__ = [
    "BudgetDisplay",
    "CalibrationDisplay",
    "EpsilonDisplay",
    "ImportanceDisplay",
    "ShapeDisplay",
    "TreeDisplay",
    "leaf_occupancy",
    "left_fractions",
    "plot_balance",
]
