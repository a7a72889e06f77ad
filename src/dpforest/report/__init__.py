"""The model card: what a model promises and says, on one page for people and in one record for programs.

`facts` collects, `page` lays out as HTML, `registry` writes the twin for OpenDP's registry of deployments.
Only released values and public facts enter a card, so making one costs no budget.
"""

from dpforest.report.facts import Facts, best_guess, collect
from dpforest.report.page import card
from dpforest.report.registry import registry_record

__all__ = ["Facts", "best_guess", "card", "collect", "registry_record"]
