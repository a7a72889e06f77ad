"""Every question that may be asked of private rows. With `sums` and the mechanisms, the trusted core.

Each query does four things in this order: pay, which charges the ledger and buys one mechanism; count rows;
run that mechanism on the counts; return what it released. Callers are the growers and leaf fillers in
`dpforest._trees` and the estimators; they hold trees, never rows.

Why one charge covers a whole level of a forest
-----------------------------------------------
Nodes of one level of one tree hold disjoint rows, and which rows they hold follows from earlier *outputs*.
So the one row that differs between two neighbouring tables meets one node per level and tree: the level
costs what one node costs. With `scatter_rows` every row also lies in one secret, independently drawn tree;
condition on the draws, and only one tree sees a difference: the forest costs what one tree costs (equal-sized
groups would not do, because adding a row then moves other rows). Otherwise every row is in all trees and each
mechanism gets the amount divided by the number of trees.

Rows without a known label
--------------------------
A row whose label is not declared counts in no label statistics. Queries about a part of the table
("unlabelled rows", "labelled rows") are charged to pools of that part; the parts are disjoint, so only the
dearer one counts.

Label privacy
-------------
Under `LABEL_CHANGE` neighbours differ in one label and the features are public, so questions about features
alone are free (`public_medians`, `public_cells`), and a changed label leaves one count and enters another:
label counts move by 2 in L1 norm. With two classes the size of a leaf is public and one count tells both: 1.
Questions whose constants are for rows that come or go (splits, leaf labels, target sums) are refused.
Sums of public weights over the rows of each class (`label_sums`) move by the weights of one row instead of 1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from types import TracebackType
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dpforest._curator.assignment import GivenTrees, KeyedTrees
from dpforest._curator.cuts import balanced_cuts
from dpforest._curator.directions import N_BINS, Directions, Parted
from dpforest._curator.estimates import EstimateQueries
from dpforest._curator.fits import FitQueries
from dpforest._curator.gradients import GradientQueries
from dpforest._curator.observer import observer_of, question
from dpforest._curator.pairs import PairCandidates, PairColumns
from dpforest._curator.payment import (
    EXPONENTIAL,
    NAMED,
    NESTED,
    NESTED_OR_RIVAL,
    PERMUTE_AND_FLIP,
    Choice,
    Noisy,
    Payments,
)
from dpforest._curator.sums import SumQueries
from dpforest._curator.table import PrivateTable
from dpforest._curator.utilities import (
    NOTHING_EXPECTED,
    Candidates,
    Centres,
    Expected,
    Subsets,
    Utility,
    median_scores,
)
from dpforest._curator.values import PrivateValues
from dpforest._rows import (
    MAX_PER_ROW,
    Assignment,
    By,
    CellCounts,
    CellMoments,
    DirectionCounts,
    LabelSums,
    LeafCounts,
    LeafSums,
    PairCounts,
    RowCount,
    Siblings,
    TargetCounts,
    WholeRows,
)
from dpforest._structure.flat import FlatTrees
from dpforest._threads import ahead
from dpforest.mechanisms import RandomWords, quantile_range
from dpforest.privacy import BudgetPlan, Event, Kind, Ledger, NeighboringRelation, PrivacyError, Query

WHOLE = Fraction(1)
LEAF_COUNTS, LEAF_SUMS, LABEL_SUMS = Query(Kind.LEAF_COUNTS), Query(Kind.LEAF_SUMS), Query(Kind.LABEL_SUMS)
CHUNK_ENTRIES = 2**18  # table entries that one call of a mechanism sees
Chunk: TypeAlias = tuple[slice, NDArray[np.int64]]  # some nodes, and their private numbers
Weighed: TypeAlias = tuple[slice, NDArray[np.int64], NDArray[np.int64]]  # also with base weights, public


class Curator(SumQueries, FitQueries, GradientQueries, EstimateQueries):
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
    one_against_rest : bool, default=False
        Cut nominal features into one category and the rest, instead of any two sets.
    values : PrivateValues, optional
        Values that nobody declared, to be taken over too.
    """

    def __init__(
        self,
        table: PrivateTable,
        plan: BudgetPlan,
        words: RandomWords,
        on_charge: Callable[[Event], None] | None = None,
        noiseless: bool = False,
        one_against_rest: bool = False,
        values: PrivateValues | None = None,
    ) -> None:
        self._observer = observer_of(words)  # nobody, unless an auditor replays a void fit
        self.schema = table.schema
        self._rows = table.open()
        self._siblings = Siblings(self._rows)
        self._grid = self._rows.grid
        self._values = {} if values is None else values.open()
        self._n_threads = table.n_threads
        self._pay = Payments(plan, words.fork("noise"), on_charge, noiseless, self._observer, self._n_threads)
        self._key_words = words.fork("assignment")
        self._assignment: Assignment | None = None  # every row is in every tree
        self._residual = None
        self.coins = words.fork("public coins")
        self.subsets = Subsets.draw(self.schema, self.coins, one_against_rest)

    @property
    def ledger(self) -> Ledger:
        """Every query so far."""
        return self._pay.ledger

    def __enter__(self) -> Curator:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Drop the rows and close the ledger, also after an error: what was charged stays charged."""
        del self._rows, self._siblings
        self._values = {}
        self.ledger.freeze()

    @question
    def scatter_rows(self, n_trees: int) -> None:
        """Put each row in one tree, drawn secretly and independently; nothing is released or charged."""
        self._assignment = self._scatter(n_trees)

    def _scatter(self, n_parts: int) -> Assignment:
        drawn = KeyedTrees.draw(n_parts, self._key_words)
        if self._observer is None:
            return drawn
        parts = self._observer.scatter(lambda: drawn.of(0, self._n_rows()).astype(np.int64))
        if len(parts) != self._n_rows():
            raise RuntimeError("Every row needs one of the parts.")
        return GivenTrees(n_parts, parts)

    def _n_rows(self) -> int:
        return int(self._rows.fold(RowCount(self._grid))[0])

    # --- totals ----------------------------------------------------------------------------------------

    @question
    def row_count(self, pool: str, share: Fraction = WHOLE) -> int:
        """Release a noisy number of rows; one row changes it by 1."""
        noise = self._pay.for_noise(pool, share, Query(Kind.ROW_COUNT), copies=1, l1=1, l2_squared=1)
        return int(noise(self._rows.fold(RowCount(self._grid))).values[0])

    @question
    def class_counts(self, pool: str, share: Fraction = WHOLE) -> Noisy:
        """Release noisy class counts; one row changes one of them by 1, a changed label two."""
        moved = 2 if self._is_label_privacy else 1
        noise = self._pay.for_noise(pool, share, Query(Kind.CLASS_COUNTS), 1, l1=moved, l2_squared=moved)
        return noise(self._rows.fold(TargetCounts(self._grid)))

    # --- splits ----------------------------------------------------------------------------------------

    @question
    def medians(
        self,
        pool: str,
        trees: FlatTrees,
        level: int,
        features: NDArray[np.int32],
        share: Fraction,
        unlabelled_only: bool = False,
    ) -> NDArray[np.int32]:
        """Release a balanced cut of one given feature in every node of a level.

        Exponential mechanism with score -|rows left - rows right| (W = 2) over the thresholds, or over the
        public subsets, that are still possible in the node's public box; equal base weight for each.

        Returns
        -------
        threshold : ndarray of shape (n_trees, 2**level), int32
            As in `FlatTrees`; a node whose box cannot be cut sends everything left.
        """
        query = Query(Kind.MEDIANS, level=level)
        copies = self._copies(trees)
        choose = self._pay.for_choice(pool, share, query, copies, quantile_range(), EXPONENTIAL)
        by = By.UNLABELLED if unlabelled_only else By.NOTHING
        return self._balanced(trees, level, features, choose, by)

    @question
    def splits(
        self,
        pool: str,
        trees: FlatTrees,
        level: int,
        features: NDArray[np.int32],
        utility: Utility,
        share: Fraction,
        centres: Centres | None = None,
        most_common: int = 1,
        tree: int | None = None,
        expected: Expected = NOTHING_EXPECTED,
    ) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Release a feature and a cut of it in every node of a level, chosen jointly by a utility.

        One exponential mechanism runs over all cuts of all given features at once, so that the level costs
        its amount once, however many candidates there are. Centred utilities need the `centres` of all nodes,
        which must follow from released values; the max-operator counts the rows of so many of a child's
        `most_common` classes. `tree` is the number of the tree, if it is one of several. Cuts are
        likelier where rows are `expected`.

        Returns
        -------
        feature, threshold : ndarray of shape (n_trees, 2**level), int32
        """
        self._demand_row_privacy()
        score_range = utility.range_for(self.schema)
        counted = f" of {most_common} classes" if most_common > 1 else ""
        query = Query(Kind.SPLITS, f"by {utility.name.lower()}{counted}{expected.origin}", level, tree)
        choose = self._pay.for_choice(pool, share, query, self._copies(trees), score_range, EXPONENTIAL)
        about_cells = self.schema.n_cells, self.subsets, expected
        candidates = Candidates.of_level(trees, level, features, *about_cells)
        chosen = np.empty(features.shape[0] * features.shape[1], np.int64)
        unit = most_common if utility is Utility.MAX_OPERATOR else utility.unit_for(self.schema)
        about = self._walk(trees, level) | {"asked": features, "width": self._most_cells}
        tables: CellCounts | CellMoments
        if utility in (Utility.SQUARED_ERROR, Utility.CENTRED_TARGET):
            tables = CellMoments(**about, squares=utility is Utility.SQUARED_ERROR)
        else:
            tables = CellCounts(**about, by=By.TARGET)

        def weighed(chunk: Chunk) -> Weighed:
            nodes, table = chunk
            scores = candidates.scores(utility, unit, nodes, table, centres)
            return nodes, scores, candidates.base_measure(nodes)

        for nodes, scores, base in ahead(weighed, self._in_chunks(tables), self._n_threads):
            chosen[nodes] = choose(scores, base)
        feature, threshold = candidates.split(chosen)
        return feature.reshape(features.shape[:2]), threshold.reshape(features.shape[:2])

    @question
    def paired_splits(
        self,
        pool: str,
        trees: FlatTrees,
        level: int,
        slots: PairColumns,
        share: Fraction,
        most_common: int = 1,
        tree: int | None = None,
    ) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Release a cut of every node of a level and of both its children, all three chosen together.

        Nested exponential mechanism on the max-operator of the four leaves that a node comes to (`pairs`):
        a row is in one of them and moves its score by at most 1, so two levels cost what one does. The tree
        is one that holds all rows; `tree` is its number, if it is one of several.

        Returns
        -------
        feature, threshold : ndarray of shape (1, 3 * 2**level), int32
            Of the nodes of the level, then of the next; a cut of a child that has nothing on one side sends
            everything left.
        """
        self._demand_row_privacy()
        counted = f" of {most_common} classes" if most_common > 1 else ""
        query = Query(Kind.SPLITS, f"two levels by max_operator{counted}{slots.expected.origin}", level, tree)
        score_range = Utility.MAX_OPERATOR.range_for(self.schema)
        choose = self._pay.for_choice(pool, share, query, self._copies(trees), score_range, NESTED)
        candidates = PairCandidates.of_level(trees, level, slots, self.schema.n_cells, self.subsets)
        tables = self._pair_tables(trees, level, candidates)
        n_nodes = len(tables)
        size = max(1, CHUNK_ENTRIES // candidates.n_cuts**2)
        chunks = [slice(at, min(at + size, n_nodes)) for at in range(0, n_nodes, size)]

        def scored(nodes: slice) -> Chunk:
            return nodes, candidates.scores(tables[nodes], most_common)

        chosen = np.empty((n_nodes, 3), np.int64)
        for nodes, scores in ahead(scored, chunks, self._n_threads):
            chosen[nodes] = choose(scores, candidates.base[nodes])
        return candidates.split(chosen, trees, level)

    @question
    def named_splits(
        self, pool: str, trees: FlatTrees, level: int, slots: PairColumns, share: Fraction
    ) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int64]]:
        """Release cuts as `paired_splits` does, and the classes of the leaves below them, chosen with them.

        A candidate has a class for each of the four leaves of a node, and is worth the rows whose leaf has
        their own class: one more row raises that by 0 or 1, so W = 1, and the classes cost nothing.

        Returns
        -------
        feature, threshold : ndarray of shape (1, 3 * 2**level), int32
            As there.
        classes : ndarray of shape (4 * 2**level,), int64
            Of the leaves two levels below.
        """
        self._demand_row_privacy()
        detail = f"two levels and the classes of their leaves{slots.expected.origin}"
        query = Query(Kind.SPLITS, detail, level)
        candidates = PairCandidates.of_level(trees, level, slots, self.schema.n_cells, self.subsets)
        choose = self._pay.for_choice(pool, share, query, self._copies(trees), 1, NAMED, candidates)
        tables = self._pair_tables(trees, level, candidates)
        n_nodes = len(tables)
        size = max(1, CHUNK_ENTRIES // candidates.n_cuts**2)
        chosen = np.empty((n_nodes, 7), np.int64)
        for at in range(0, n_nodes, size):
            nodes = slice(at, min(at + size, n_nodes))
            chosen[nodes] = choose(tables[nodes], candidates.base[nodes], candidates.first_group)
        return candidates.split_named(chosen, trees, level)

    @question
    def paired_splits_or_direction(
        self,
        pool: str,
        trees: FlatTrees,
        slots: PairColumns,
        share: Fraction,
        directions: Directions,
        odds: float,
    ) -> Parted | tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Release the first two levels of a tree as `paired_splits` does, or a direction that does better.

        Two classes only. Both kinds of candidates are scored by the rows that they name correctly, so that a
        row raises the score of each by 0 or 1: W = 1 for all of them together, and one mechanism chooses
        among all (`dpforest.mechanisms.nested`, rivals).

        Parameters
        ----------
        pool, trees, slots, share
            As there; the level is that of the root.
        directions : Directions
            Public directions.
        odds : float
            How likely a direction is where no row says otherwise; public.
        """
        self._demand_row_privacy()
        along = self._along(directions)
        query = Query(Kind.SPLITS, f"two levels by max_operator or a direction{directions.origin}", 0)
        score_range = Utility.MAX_OPERATOR.range_for(self.schema)
        choose = self._pay.for_choice(pool, share, query, self._copies(trees), score_range, NESTED_OR_RIVAL)
        candidates = PairCandidates.of_level(trees, 0, slots, self.schema.n_cells, self.subsets)
        of_cuts = candidates.scores(self._pair_tables(trees, 0, candidates), 1)
        rivals = directions.correct(self._rows.fold(along))
        table = np.hstack([of_cuts.reshape(1, -1), rivals])
        chosen = choose(table, candidates.base, np.array([odds]))
        if chosen[0, 0] >= candidates.n_cuts:
            return directions.parted_by(int(chosen[0, 0]) - candidates.n_cuts)
        return candidates.split(chosen, trees, 0)

    @question
    def best_direction(self, pool: str, share: Fraction, directions: Directions) -> Parted:
        """Release a direction and a threshold that part two classes well.

        Exponential mechanism on the rows that are named correctly; a row raises that by 0 or 1: W = 1.
        """
        self._demand_row_privacy()
        along = self._along(directions)
        query = Query(Kind.DIRECTION, directions.origin.strip())
        choose = self._pay.for_choice(pool, share, query, 1, 1, EXPONENTIAL)
        scores = directions.correct(self._rows.fold(along))
        return directions.parted_by(int(choose(scores, np.ones_like(scores))[0]))

    def _pair_tables(self, trees: FlatTrees, level: int, candidates: PairCandidates) -> NDArray[np.int64]:
        """Count rows by pairs of groups, in every node of a level; private."""
        return self._rows.fold(
            PairCounts(
                **self._walk(trees, level),
                columns=candidates.slots.columns,
                groups=candidates.groups,
                n_groups=int(candidates.first_group[-1]),
            )
        )

    def _along(self, directions: Directions) -> DirectionCounts:
        """Say what is counted of rows along directions; refuse what cannot be, before anything is paid."""
        if self.schema.classes.n_classes != 2:
            raise ValueError("Directions part two classes.")
        return DirectionCounts(
            self._grid, scores=directions.scores, low=directions.low, width=directions.width, n_bins=N_BINS
        )

    @question
    def features_by_median(
        self, pool: str, trees: FlatTrees, level: int, features: NDArray[np.int32], share: Fraction
    ) -> NDArray[np.int32]:
        """Release, in every node of a level, the feature whose exact median cut separates the target best.

        Permute-and-flip on the impurity of the two halves (see `median_scores` for the range W). The cut
        itself is not released; ask `medians` for it.

        Returns
        -------
        feature : ndarray of shape (n_trees, 2**level), int32
        """
        self._demand_row_privacy()
        is_class = self.schema.target is not None and hasattr(self.schema.target, "labels")
        score_range = median_scores.range(is_class)
        query = Query(Kind.MEDIAN_FEATURES, level=level)
        copies = self._copies(trees)
        choose = self._pay.for_choice(pool, share, query, copies, score_range, PERMUTE_AND_FLIP)
        by = By.TARGET if is_class else By.COARSE_TARGET
        flat = features.reshape(-1, features.shape[2])
        chosen = np.empty(len(flat), np.int32)
        walk = self._walk(trees, level)
        tables = CellCounts(**walk, asked=features, width=self._most_cells, by=by)

        def scored(chunk: Chunk) -> Chunk:
            nodes, table = chunk
            return nodes, median_scores(table.astype(np.int64, copy=False), is_class)

        for nodes, scores in ahead(scored, self._in_chunks(tables), self._n_threads):
            slot = choose(scores)
            chosen[nodes] = flat[nodes][np.arange(len(slot)), slot]
        return chosen.reshape(features.shape[:2])

    # --- leaves ----------------------------------------------------------------------------------------

    @question
    def leaf_histograms(
        self, pool: str, trees: FlatTrees, share: Fraction = WHOLE, query: Query = LEAF_COUNTS
    ) -> Noisy:
        """Release noisy class counts of every leaf, empty ones too; one row changes one count by 1."""
        if self._is_label_privacy and len(self.schema.classes.labels) == 2:
            noise = self._pay.for_noise(pool, share, query, self._copies(trees), 1, 1)
            counts = self._leaf_counts(trees)
            second, sd = noise(counts[..., 1:])
            first = counts.sum(axis=-1, keepdims=True) - second
            return Noisy(np.concatenate([first, second], axis=-1), sd)
        l1 = 2 if self._is_label_privacy else 1
        noise = self._pay.for_noise(pool, share, query, self._copies(trees), l1, l2_squared=l1)
        return noise(self._leaf_counts(trees))

    @question
    def leaf_soft_histograms(
        self, pool: str, trees: FlatTrees, share: Fraction = WHOLE, query: Query = LEAF_SUMS
    ) -> Noisy:
        """Release the noisy sums of (y, G - y) of every leaf, y the fixed-point target with G levels.

        A row adds two numbers with sum G, so G bounds both its L1 and its L2 norm. The leaf's mean is
        G * first / (first + second): half the variance of a noisy sum and a noisy count at half the budget.
        """
        self._demand_row_privacy()
        levels = self.schema.range.levels
        noise = self._pay.for_noise(pool, share, query, self._copies(trees), levels, l2_squared=levels**2)
        counts, sums = np.moveaxis(self._rows.fold(LeafSums(**self._walk(trees, trees.depth))), -1, 0)
        return noise(np.stack([sums, levels * counts - sums], axis=-1))

    @question
    def leaf_labels(
        self, pool: str, trees: FlatTrees, share: Fraction = WHOLE, mechanism: str = PERMUTE_AND_FLIP
    ) -> NDArray[np.int64]:
        """Release the most common class of every leaf, chosen by its class count (W = 1)."""
        self._demand_row_privacy()
        choose = self._pay.for_choice(
            pool, share, Query(Kind.LEAF_LABELS), self._copies(trees), score_range=1, mechanism=mechanism
        )
        counts = self._leaf_counts(trees)
        return choose(counts.reshape(-1, counts.shape[-1])).reshape(counts.shape[:-1])

    @question
    def label_sums(
        self, pool: str, weights: NDArray[np.int32], share: Fraction = WHOLE, query: Query = LABEL_SUMS
    ) -> Noisy:
        """Release the noisy sums of public weights over the rows of each class; for label privacy only.

        Row i of `weights` belongs to the i-th labelled row and must follow from features alone. If its label
        changes, the row of weights leaves one class and enters another: twice its L1 norm, or once with two
        classes, whose sums add up to a public total.

        Returns
        -------
        Noisy
            Of shape (n_terms, n_classes).
        """
        is_labelled = self._public_rows().is_labelled()
        if len(weights) != np.count_nonzero(is_labelled):
            raise ValueError("weights must have one row for every labelled row.")
        wide = np.abs(weights.astype(np.int64))
        if wide.max(initial=0) > MAX_PER_ROW:
            raise ValueError("A weight is beyond what sums of 2**40 rows have room for.")
        l1, l2_squared = (max(1, int(norm.max(initial=0))) for norm in (wide.sum(1), (wide**2).sum(1)))
        two = len(self.schema.classes.labels) == 2
        moved = 1 if two else 2
        noise = self._pay.for_noise(pool, share, query, 1, moved * l1, moved * l2_squared)
        by_row = np.zeros((len(is_labelled), weights.shape[1]), np.int32)
        by_row[is_labelled] = weights
        sums = self._rows.fold(LabelSums(self._grid, by_row))
        if not two:
            return noise(sums)
        second, sd = noise(sums[:, 1:])
        first = sums.sum(axis=1, keepdims=True) - second
        return Noisy(np.concatenate([first, second], axis=1), sd)

    # --- what label privacy leaves public --------------------------------------------------------------

    @question
    def public_medians(self, trees: FlatTrees, level: int, features: NDArray[np.int32]) -> NDArray[np.int32]:
        """Cut at the exact medians of public features; ties are broken with public coins."""
        return self._balanced(trees, level, features, self._pay.free_choice(self.coins), By.NOTHING)

    @question
    def public_cells(self) -> tuple[NDArray[Any], NDArray[np.bool_]]:
        """Return the cells of all rows and which rows carry a label: public when only labels are private."""
        rows = self._public_rows()
        cells, is_labelled = rows.cells(), rows.is_labelled()
        if self._observer is not None:
            self._observer.unpaid(cells, is_labelled)
        return cells, is_labelled

    @property
    def _is_label_privacy(self) -> bool:
        return self.ledger.plan.relation is NeighboringRelation.LABEL_CHANGE

    def _public_rows(self) -> WholeRows:
        """Return the rows for what is public of them: cells, and which of them have a label."""
        if not self._is_label_privacy:
            raise PrivacyError("Features are private here; they are public only under label privacy.")
        if not isinstance(self._rows, WholeRows):
            raise TypeError("This needs all rows at once, not only tables of them: give a table in memory.")
        return self._rows

    # --- shared steps ----------------------------------------------------------------------------------

    @property
    def _most_cells(self) -> int:
        return int(self.schema.n_cells.max())

    def _copies(self, trees: FlatTrees) -> int:
        """How many trees one row is in."""
        return trees.n_trees if self._assignment is None else 1

    def _walk(self, trees: FlatTrees, level: int) -> dict[str, Any]:
        """Return what all tables of rows that walk through trees need."""
        return {
            "grid": self._grid,
            "trees": trees,
            "level": level,
            "assignment": self._assignment,
            "residual": self._residual,
        }

    def _leaf_counts(self, trees: FlatTrees) -> NDArray[np.int64]:
        return self._rows.fold(LeafCounts(**self._walk(trees, trees.depth)))

    def _balanced(
        self, trees: FlatTrees, level: int, features: NDArray[np.int32], choose: Choice, by: By
    ) -> NDArray[np.int32]:
        """Count the rows of every node by the cells of its feature and cut them in halves."""
        asked = features[..., None]
        low, high, members = trees.boxes(level, asked, self.schema.n_cells)
        low, high, members = low.ravel(), high.ravel(), members.reshape(features.size, -1)
        cut = np.empty(features.size, np.int64)
        tables = CellCounts(**self._walk(trees, level), asked=asked, width=self._most_cells, by=by)
        for nodes, table in self._in_chunks(tables):
            counts = table.reshape(len(table), -1).astype(np.int64, copy=False)
            cut[nodes] = balanced_cuts(
                features.ravel()[nodes], counts, low[nodes], high[nodes],
                members[nodes], self.subsets, self.schema, choose, self._n_threads,
            )  # fmt: skip
        return cut.astype(np.int32).reshape(features.shape)

    def _in_chunks(self, table: CellCounts | CellMoments) -> Iterator[Chunk]:
        """Fold a table and cut it into tables of few nodes: choosing takes several times their memory."""
        for group, counts in self._siblings.fold(table):
            size = max(1, CHUNK_ENTRIES // int(np.prod(counts.shape[1:])))
            for start in range(0, len(counts), size):
                nodes = slice(group.start + start, min(group.start + start + size, group.stop))
                yield nodes, counts[start : start + size]
