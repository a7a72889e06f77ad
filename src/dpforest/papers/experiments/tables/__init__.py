"""The papers' tables and figures, one file each, as data.

Every file has a tuple ``EXPERIMENTS``; the panels of a figure are experiments of their own. `_shared` holds
the papers and reads blocks of figures that are typed as they are printed; `_balance` measures trees. Figures
of which the paper's text gives no numbers have none here either; they are rerun on grids of our choice.

`dpforest.papers.experiments.catalogue` finds experiments by name.
"""
