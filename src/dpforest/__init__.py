"""Differentially private tree ensembles with guarantees that hold."""
