"""The papers' datasets, each with its public schema: ``X, y, schema = load("banknote")``.

No rows are shipped. `load` looks, in this order, in a folder (environment variable ``DPFOREST_DATA``), in
installed packages that carry data, and on OpenML; what it cannot find it reports, it never takes something
else instead. What is public about the columns is shipped, in `domains.json`.

Modules, in the order of their dependence: `dataset` (what is returned), `catalogue` (what exists and what is
public about it), `columns` (types by the schema, and checks that rows are what the catalogue says), the three
places `folder`, `packages` and `openml`, then `synthetic` (drawn rows) and `views` (rows and domains as
single papers used them). `loading` puts them together.
"""

from dpforest.papers.datasets.dataset import Dataset, DatasetInfo, DatasetNotFoundError
from dpforest.papers.datasets.loading import list_datasets, load
from dpforest.papers.datasets.synthetic import generate

__all__ = ["Dataset", "DatasetInfo", "DatasetNotFoundError", "generate", "list_datasets", "load"]
