"""Every question that may be asked of private rows. This file and the mechanisms are the trusted core.

Each query does four things in this order: charge the ledger, count rows, run a mechanism on the counts,
return what the mechanism released. Callers are the growers and leaf fillers in `dpforest.trees`; they hold
trees, never rows.

Why one charge covers a whole level of a forest
-----------------------------------------------
Nodes of one level of one tree hold disjoint rows, and which rows they hold follows from earlier *outputs*.
So the one row that differs between two neighbouring tables meets one node per level and tree: the level
costs what one node costs. With `scatter_rows` every row also lies in one secret, independently drawn tree;
condition on the draws, and only one tree sees a difference: the forest costs what one tree costs (equal-sized
groups would not do, because adding a row then moves other rows). Otherwise every row is in all trees and each
mechanism gets the amount divided by the number of trees.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from types import TracebackType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpforest import mechanisms
from dpforest.curator.table import PrivateTable
from dpforest.curator.utilities import Candidates, Subsets, Utility
from dpforest.mechanisms import RandomWords, Rate, quantile_range
from dpforest.privacy import (
    BudgetPlan,
    Event,
    Ledger,
    exponential_epsilon_from_rho,
    gaussian_variance_from_rho,
    pure_epsilon_from_rho,
)
from dpforest.structure.flat import EVERYTHING_LEFT, FlatTrees

WHOLE = Fraction(1)
CHUNK_ENTRIES = 2**18  # table entries that one call of a mechanism sees


class Curator:
    """Owner of private rows; answers a fixed list of questions, each charged before it is looked up.

    Parameters
    ----------
    table : PrivateTable
        Rows to guard; the curator takes them over.
    plan : BudgetPlan
        What may be spent, pool by pool.
    words : RandomWords
        Source of all noise and of the secret assignment of rows to trees.
    on_charge : callable, optional
        Called with every event after it was charged, for progress. It sees what the ledger shows, no more.
    noiseless : bool, default=False
        Answer without noise: for the non-private forms of the papers, whose models say that they are void.
    """

    def __init__(
        self,
        table: PrivateTable,
        plan: BudgetPlan,
        words: RandomWords,
        on_charge: Callable[[Event], None] | None = None,
        noiseless: bool = False,
    ) -> None:
        self.schema = table.schema
        self.ledger = Ledger(plan)
        self._rows = table.open()
        self._noise = words.fork("noise")
        self._assignment = words.fork("assignment")
        self.coins = words.fork("public coins")
        self.subsets = Subsets.draw(self.schema, self.coins)
        self._scattered = False
        self._on_charge = on_charge
        self._noiseless = noiseless

    def __enter__(self) -> Curator:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Drop the rows and close the ledger, also after an error: what was charged stays charged."""
        del self._rows
        self.ledger.freeze()

    def scatter_rows(self, n_trees: int) -> None:
        """Put each row in one tree, drawn secretly and independently; nothing is released or charged."""
        drawn = self._assignment.uniform_below(n_trees, self._rows.n_rows)
        self._rows.assign(drawn.astype(np.uint16))
        self._scattered = True

    def row_count(self, pool: str, share: Fraction = WHOLE) -> int:
        """Release a noisy number of rows; one row changes it by 1."""
        noise = self._pay_for_noise(pool, share, "number of rows", copies=1, sensitivity=1)
        return int(noise(np.array([self._rows.n_rows], np.int64))[0])

    def class_counts(self, pool: str, share: Fraction = WHOLE) -> NDArray[np.int64]:
        """Release noisy class counts; one row changes one of them by 1."""
        noise = self._pay_for_noise(pool, share, "rows of each class", copies=1, sensitivity=1)
        return noise(self._rows.class_counts(self._n_classes))

    def medians(
        self, pool: str, trees: FlatTrees, level: int, features: NDArray[np.int32], share: Fraction
    ) -> NDArray[np.int32]:
        """Release a balanced cut of one given feature in every node of a level.

        Exponential mechanism with score -|rows left - rows right| (W = 2) over the thresholds, or over the
        public subsets, that are still possible in the node's public box; equal base weight for each.

        Returns
        -------
        threshold : ndarray of shape (n_trees, 2**level), int32
            As in `FlatTrees`; a node whose box cannot be cut sends everything left.
        """
        purpose = f"private medians, level {level}"
        epsilon = self._pay_for_choice(pool, share, purpose, trees, score_range=quantile_range())
        asked = features[..., None]
        low, high, members = trees.boxes(level, asked, self.schema.n_cells)
        low, high, members = low.ravel(), high.ravel(), members.reshape(features.size, -1)
        cut = np.empty(features.size, np.int64)
        tables = self._rows.cell_counts(trees, level, asked, int(self.schema.n_cells.max()))
        for nodes, counts in _in_chunks(tables, level):
            box = low[nodes], high[nodes], members[nodes]
            counts = counts.reshape(len(counts), -1)
            cut[nodes] = self._balance(features.ravel()[nodes], counts, *box, epsilon)
        return cut.astype(np.int32).reshape(features.shape)

    def splits(
        self,
        pool: str,
        trees: FlatTrees,
        level: int,
        features: NDArray[np.int32],
        utility: Utility,
        share: Fraction,
    ) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Release a feature and a cut of it in every node of a level, chosen jointly by a utility.

        One exponential mechanism runs over all cuts of all given features at once, so that the level costs
        its amount once, however many candidates there are.

        Returns
        -------
        feature, threshold : ndarray of shape (n_trees, 2**level), int32
        """
        score_range = utility.range_for(self.schema)
        purpose = f"splits by {utility.name.lower()}, level {level}"
        epsilon = self._pay_for_choice(pool, share, purpose, trees, score_range)
        rate = Rate.floor(epsilon / score_range)
        candidates = Candidates.of_level(trees, level, features, self.schema.n_cells, self.subsets)
        chosen = np.full(features.shape[0] * features.shape[1], -1, np.int64)
        for nodes, table in _in_chunks(self._tables(trees, level, features, utility), level):
            base, scores = candidates.base_measure(nodes), candidates.scores(utility, nodes, table)
            can_cut = base.any(axis=1)  # public: whose box has two cells left
            chosen[nodes][can_cut] = mechanisms.exponential(scores[can_cut], base[can_cut], rate, self._noise)
        feature, threshold = candidates.split(chosen)
        return feature.reshape(features.shape[:2]), threshold.reshape(features.shape[:2])

    def leaf_histograms(self, pool: str, trees: FlatTrees, share: Fraction = WHOLE) -> NDArray[np.int64]:
        """Release noisy class counts of every leaf, empty ones too; one row changes one count by 1."""
        noise = self._pay_for_noise(pool, share, "leaf class counts", self._copies(trees), sensitivity=1)
        return noise(self._rows.leaf_counts(trees, self._n_classes))

    def leaf_soft_histograms(self, pool: str, trees: FlatTrees, share: Fraction = WHOLE) -> NDArray[np.int64]:
        """Release the noisy sums of (y, G - y) of every leaf, y the fixed-point target with G levels.

        A row adds two numbers with sum G, so G bounds both its L1 and its L2 norm. The leaf's mean is
        G * first / (first + second): half the variance of a noisy sum and a noisy count at half the budget.
        """
        levels = self.schema.range.levels
        noise = self._pay_for_noise(pool, share, "leaf target sums", self._copies(trees), sensitivity=levels)
        counts, sums = np.moveaxis(self._rows.leaf_sums(trees), -1, 0)
        return noise(np.stack([sums, levels * counts - sums], axis=-1))

    def leaf_labels(self, pool: str, trees: FlatTrees, share: Fraction = WHOLE) -> NDArray[np.int64]:
        """Release the most common class of every leaf by permute-and-flip on its class counts (W = 1)."""
        epsilon = self._pay_for_choice(
            pool, share, "leaf labels", trees, score_range=1, mechanism="permute-and-flip"
        )
        counts = self._rows.leaf_counts(trees, self._n_classes)
        flat = counts.reshape(-1, counts.shape[-1])
        return mechanisms.permute_and_flip(flat, Rate.floor(epsilon), self._noise).reshape(counts.shape[:-1])

    @property
    def _n_classes(self) -> int:
        return len(self.schema.classes.labels)

    @property
    def _is_pure(self) -> bool:
        return self.ledger.plan.currency == "pure"

    def _copies(self, trees: FlatTrees) -> int:
        """How many trees one row is in."""
        return 1 if self._scattered else trees.n_trees

    def _pay_for_noise(
        self, pool: str, share: Fraction, purpose: str, copies: int, sensitivity: int
    ) -> Callable[[NDArray[np.int64]], NDArray[np.int64]]:
        """Charge for one noisy table and return the noise that was paid for.

        `sensitivity` bounds the L1 and the L2 change of one tree's table when one row is added or removed.
        """
        amount = self.ledger.plan.amount(pool) * share / copies
        if self._is_pure:
            rate = Rate.floor(amount / sensitivity)
            name, sd = "discrete Laplace", math.sqrt(mechanisms.discrete_laplace_variance(rate))
        else:
            variance = gaussian_variance_from_rho(amount, sensitivity**2)
            name, sd = "discrete Gaussian", math.sqrt(mechanisms.discrete_gaussian_parameter(variance))
        self._charge(pool, share, purpose, name, {"trees_per_row": copies, "noise_sd": sd})
        if self._noiseless:
            return lambda counts: counts
        if self._is_pure:
            return lambda counts: mechanisms.discrete_laplace(counts, rate, self._noise)
        return lambda counts: mechanisms.discrete_gaussian(counts, variance, self._noise)

    def _pay_for_choice(
        self,
        pool: str,
        share: Fraction,
        purpose: str,
        trees: FlatTrees,
        score_range: int,
        mechanism: str = "exponential mechanism",
    ) -> Fraction:
        """Charge for one choice in every node and return the epsilon to make it with."""
        copies = self._copies(trees)
        epsilon = self.ledger.plan.amount(pool) * share / copies
        if not self._is_pure and mechanism == "exponential mechanism":
            epsilon = exponential_epsilon_from_rho(epsilon)  # bounded range: epsilon**2 / 8
        elif not self._is_pure:
            epsilon = pure_epsilon_from_rho(epsilon)
        if self._noiseless:
            epsilon = Fraction(2**20) * score_range  # a gap of one unit decides
        parameters = {"trees_per_row": copies, "epsilon": float(epsilon), "score_range": score_range}
        self._charge(pool, share, purpose, mechanism, parameters)
        return epsilon

    def _charge(
        self, pool: str, share: Fraction, purpose: str, mechanism: str, parameters: dict[str, Any]
    ) -> None:
        """Write the charge down; nothing may be counted before."""
        event = self.ledger.charge(pool, share, mechanism=mechanism, purpose=purpose, parameters=parameters)
        if self._on_charge is not None:
            self._on_charge(event)

    def _balance(
        self,
        features: NDArray[np.int32],
        counts: NDArray[np.int32],
        low: NDArray[np.int32],
        high: NDArray[np.int32],
        members: NDArray[np.uint8],
        epsilon: Fraction,
    ) -> NDArray[np.int64]:
        """Cut each node near its median: by threshold if its feature is ordered, else by subset."""
        cut = np.full(len(features), -1, np.int64)
        nominal = self.schema.nominal[features]
        if not nominal.all():
            ordered = ~nominal
            cut[ordered] = mechanisms.quantile(
                counts[ordered], low[ordered], high[ordered], epsilon, self._noise
            )
        for feature in np.flatnonzero(self.schema.nominal):
            nodes = features == feature
            cells = int(self.schema.n_cells[feature])
            cut[nodes] = mechanisms.balanced_subset(
                counts[nodes, :cells],
                members[nodes, :cells],
                self.subsets.of(int(feature))[:, :cells],
                epsilon,
                self._noise,
            )
        return np.where(
            cut < 0, EVERYTHING_LEFT, np.where(nominal, -self.subsets.first[features] - cut - 1, cut)
        )

    def _tables(self, trees: FlatTrees, level: int, asked: NDArray[np.int32], utility: Utility) -> Any:
        n_cells = int(self.schema.n_cells.max())
        if utility is Utility.SQUARED_ERROR:
            return self._rows.cell_moments(trees, level, asked, n_cells)
        return self._rows.cell_counts(trees, level, asked, n_cells, self._n_classes)


def _in_chunks(
    tables: Iterator[tuple[slice, NDArray[Any]]], level: int
) -> Iterator[tuple[slice, NDArray[Any]]]:
    """Cut tables of groups of trees into tables of a few nodes: choosing takes several times their memory."""
    for trees, table in tables:
        flat = table.reshape(-1, *table.shape[2:])
        size = max(1, CHUNK_ENTRIES // int(np.prod(flat.shape[1:])))
        for start in range(0, len(flat), size):
            first = trees.start * 2**level + start
            yield slice(first, first + min(size, len(flat) - start)), flat[start : start + size]
