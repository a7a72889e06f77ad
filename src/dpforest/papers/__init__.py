"""The research: what five papers did, said and measured. Nothing here is private by itself.

`published` has the papers' own forms, flaws included (`as_published=True` runs them), `baselines` the systems
that they compare with, `theory` their theorems as functions, `gallery` the counterexamples to their promises,
`datasets` their tables of rows, `experiments` their tables of results and one runner for all. The product
never loads any of it unless it is asked to.
"""
