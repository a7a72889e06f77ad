"""Rows that papers drew: SynthA to SynthG (Fletcher and Islam 2017), Syn5d to Syn15d (Huang et al. 2022).

Both use scikit-learn's `make_classification`: Gaussian clusters around corners of a cube, two to a class,
their informative features mixed linearly. Neither paper gives a seed: its law is here, not its rows.
`loading` calls `generate` for these names, and for names such as SynthF@3000, which has 3000 rows.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from importlib import import_module

import numpy as np

from dpforest.papers.datasets.columns import pandas
from dpforest.papers.datasets.dataset import Dataset, DatasetInfo, DatasetNotFoundError
from dpforest.schema import Classes, Numeric, Schema

__all__ = ["GENERATED", "generate", "size_in_name"]


@dataclass(frozen=True)
class Clusters:
    """Two balanced classes of two Gaussian clusters each.

    Parameters
    ----------
    n_rows : int
        Rows that the paper drew.
    n_informative, n_random : int
        Features that tell the classes apart, and features of pure noise.
    info : DatasetInfo
        Where it comes from.
    """

    n_rows: int
    n_informative: int
    n_random: int
    info: DatasetInfo

    @property
    def schema(self) -> Schema:
        """Public bounds from the law of the rows: four standard deviations, around centres 1 from zero.

        An informative feature is a sum of `n_informative` normal ones with factors drawn from [-1, 1], so its
        variance is `n_informative / 3` on average; a random one is normal. The few values beyond are clipped.
        """
        bound = 1 + round(4 * math.sqrt(self.n_informative / 3))
        bounds = [bound] * self.n_informative + [4] * self.n_random
        return Schema({f"x{i}": Numeric(-b, b) for i, b in enumerate(bounds)}, Classes([0, 1]))


def _fletcher(letter: str, n_informative: int, n_random: int) -> Clusters:
    fidelity = "the law of the paper's rows; the paper gives no seed"
    paper = ("Fletcher and Islam 2017",)
    d = n_informative + n_random
    info = DatasetInfo(f"Synth{letter}", "classification", 30_000, d, 2, "none", fidelity, paper)
    return Clusters(30_000, n_informative, n_random, info)


def _huang(n_features: int) -> Clusters:
    fidelity = (
        "drawn alike; the paper gives rows, features and classes only. Here all features are informative, "
        "chosen out of five settings because a random forest then predicts about as well as in the paper "
        "(93 %; there 92 to 95 %)"
    )
    paper = ("Huang et al. 2022",)
    info = DatasetInfo(f"Syn{n_features}d", "classification", 3000, n_features, 2, "none", fidelity, paper)
    return Clusters(3000, n_features, 0, info)


_CLUSTERS = [
    _fletcher("A", 5, 0),
    _fletcher("B", 10, 0),
    _fletcher("C", 15, 0),
    _fletcher("D", 10, 5),
    _fletcher("E", 5, 10),
    _fletcher("F", 5, 5),
    _fletcher("G", 10, 10),
    *map(_huang, (5, 10, 15)),
]
GENERATED: Mapping[str, Clusters] = {clusters.info.name: clusters for clusters in _CLUSTERS}
"""Datasets that are drawn, by name."""


def size_in_name(name: str) -> tuple[str, int | None]:
    """Take a name apart into dataset and number of rows; names without a number of rows stay as they are.

    Examples
    --------
    >>> size_in_name("SynthF@3000"), size_in_name("SynthF"), size_in_name("mushroom@fletcher2017")
    (('SynthF', 3000), ('SynthF', None), ('mushroom@fletcher2017', None))
    """
    base, _, size = name.partition("@")
    return (base, int(size)) if base in GENERATED and size.isdecimal() else (name, None)


def generate(name: str, n_rows: int | None = None, random_state: int = 0) -> Dataset:
    """Draw a synthetic dataset.

    Parameters
    ----------
    name : str
        SynthA to SynthG, Syn5d, Syn10d or Syn15d.
    n_rows : int, optional
        Number of rows; by default as many as in the paper.
    random_state : int, default=0
        The same number gives the same rows; ``load(name)`` uses 0.

    Returns
    -------
    Dataset

    Examples
    --------
    >>> X, y, schema = generate("SynthE", n_rows=100)
    >>> X.shape, schema.features["x0"], schema.features["x14"]
    ((100, 15), Numeric(-6, 6), Numeric(-4, 4))
    """
    if name not in GENERATED:
        raise DatasetNotFoundError(f"{name!r} is not drawn; these are: {', '.join(GENERATED)}.")
    clusters = GENERATED[name]
    n_rows = clusters.n_rows if n_rows is None else n_rows
    # Informative features come first, since their bounds are others; rows are shuffled below.
    X, y = import_module("sklearn.datasets").make_classification(
        n_samples=n_rows,
        n_features=clusters.n_informative + clusters.n_random,
        n_informative=clusters.n_informative,
        n_redundant=0,
        shuffle=False,
        random_state=random_state,
    )
    order = np.random.default_rng(random_state).permutation(n_rows)
    schema = clusters.schema
    info = replace(clusters.info, n_rows=n_rows, source=f"drawn with random_state={random_state}")
    return Dataset(pandas().DataFrame(X[order], columns=list(schema.names)), y[order], schema, info)
