"""The public list of cuts among which two levels of a tree are chosen together, and their exact scores.

The score of a cut of a node and one cut of each of its children is what the max-operator says of the four
leaves: the rows that are of the most common classes of their leaf. A row is in one leaf, whose score it
raises by 0 or 1 and leaves alone all others: W = 1, for two levels as for one. The cut of the left child adds
`left`, that of the right child `right`; see `dpforest.mechanisms.nested`. Where the classes of the leaves
are drawn with the cuts, a leaf counts the rows of its class, which a row raises by 0 or 1, too: see
`dpforest.mechanisms.named`.

Every column has a few cuts only, tables being by pairs of groups between the cuts: equally far apart inside
the node's box or, where released values say how rows lie, closer together where these are common. Bounds that
are ten times wider than the values would leave a cut or two among these otherwise.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpforest._curator.utilities import FEATURE_WEIGHT, NOTHING_EXPECTED, Expected, Subsets, partly_even
from dpforest._structure.flat import EVERYTHING_LEFT, FlatTrees
from dpforest._threads import zeros
from dpforest.mechanisms import SoftUnits

LEAST_GROUPS = 10  # of an ordered column: with fewer, two levels together see less than one by one (study)
GROUPS_WITH_SUMS = 16  # with fewer there are no columns of two features: they would take cuts from the others
NEAR_THE_END = 0.125  # part of the cuts of an ordered column that lie close to its lower end (study)
MOST_SUBSETS = 32  # cuts of a nominal column, which has a group for every category
MOST_CUTS = 2**11  # of all columns: scores are by pairs of cuts, and need 2**26 bytes then


@dataclass(frozen=True)
class PairColumns:
    """Which columns two levels look at, and into how many groups ordered ones are cut.

    `expected` says of these columns where rows lie; where it does not, cells are taken to be equally common.
    """

    columns: NDArray[np.int64]
    n_groups: NDArray[np.int64]
    expected: Expected = NOTHING_EXPECTED

    @classmethod
    def that_fit(
        cls,
        n_cells: NDArray[Any],
        nominal: NDArray[np.bool_],
        n_features: int,
        n_groups: int,
        n_slots: int,
        expected: Expected = NOTHING_EXPECTED,
    ) -> PairColumns | None:
        """Choose columns so that all of them together have at most so many groups, and are so many.

        Features come first; columns of two features follow as far as there is room for them. None if there
        is no room for the features.

        Parameters
        ----------
        n_cells, nominal : ndarray of shape (n_columns,)
            Cells of every column of the table, and whether these are categories.
        n_features : int
            How many columns are features; the others are made of two.
        n_groups, n_slots : int
            Most groups, and most columns.
        expected : Expected
            Where rows lie, of every column of the table.

        Examples
        --------
        >>> columns = np.array([256, 256, 3, 256]), np.array([False, False, True, False])
        >>> PairColumns.that_fit(*columns, 3, 60, 10).n_groups
        array([19, 19,  3, 19])
        >>> PairColumns.that_fit(*columns, 3, 40, 10).n_groups
        array([18, 18,  3])
        """
        usable = np.flatnonzero(n_cells > 1)
        features = usable[usable < n_features]
        sets = n_cells[features][nominal[features]].astype(np.int64)
        n_ordered = len(features) - len(sets)
        # nominal columns have more cuts than groups, and cuts may be twice as many as groups in all
        n_subsets = int(np.minimum(2 ** np.minimum(sets - 1, 30) - 1, MOST_SUBSETS).sum())
        n_left = min(n_groups - int(sets.sum()), min(2 * n_groups, MOST_CUTS) - n_subsets)
        if not 0 < len(features) <= n_slots or n_left < LEAST_GROUPS * n_ordered:
            return None
        n_sums = min(n_left // GROUPS_WITH_SUMS - n_ordered, n_slots - len(features)) if n_ordered else 0
        kept = usable[: len(features) + max(n_sums, 0)].astype(np.int64)
        widest = n_left // max(int((~nominal[kept]).sum()), 1)
        narrow = np.minimum(n_cells[kept], widest)
        of_slots = tuple(expected.shares[at] for at in kept) if expected.shares else ()
        wide = np.where(nominal[kept], n_cells[kept], narrow).astype(np.int64)
        return cls(kept, wide, expected._replace(shares=of_slots))


@dataclass(frozen=True)
class PairCandidates:
    """Cuts of the nodes of a level, the same number for every node; all of it public.

    Parameters
    ----------
    slots : PairColumns
        Columns that are looked at.
    n_cells : ndarray of shape (n_columns,)
        Cells of every column of the table.
    first_group, first_cut : ndarray of shape (n_slots + 1,)
        Where the groups and the cuts of every column begin.
    groups : ndarray of shape (n_nodes, n_slots, n_cells), int32
        Group of every cell, numbered through the columns.
    base : ndarray of shape (n_nodes, n_cuts), int64
        Base weights: every column has the same, spread over its cuts; 0 for a cut with no cell of the node on
        one side.
    threshold : ndarray of shape (n_nodes, n_cuts), int32
        As in `FlatTrees`.
    sets : dict of int to ndarray
        For every nominal column, by slot: which categories each of its cuts sends left.
    """

    slots: PairColumns
    n_cells: NDArray[np.int32]
    first_group: NDArray[np.int64]
    first_cut: NDArray[np.int64]
    groups: NDArray[np.int32]
    base: NDArray[np.int64]
    threshold: NDArray[np.int32]
    sets: dict[int, NDArray[np.uint8]]

    @classmethod
    def of_level(
        cls, trees: FlatTrees, level: int, slots: PairColumns, n_cells: NDArray[np.int32], subsets: Subsets
    ) -> PairCandidates:
        """List the cuts of the nodes of a level of the one tree."""
        columns, n_nodes = slots.columns, 2**level
        asked = np.tile(columns.astype(np.int32), (1, n_nodes, 1))
        low, high, members = (found[0] for found in trees.boxes(level, asked, n_cells))
        cells, groups, bases, thresholds = np.arange(int(n_cells[columns].max())), [], [], []
        sets: dict[int, NDArray[np.uint8]] = {}
        first_group, first_cut = [0], [0]
        for slot, (column, n_groups) in enumerate(zip(columns, slots.n_groups, strict=True)):
            if subsets.first[column] >= 0:
                found = _by_sets(int(column), members[:, slot, :n_groups], subsets)
                sets[slot] = subsets.left_sets[-found.threshold[0] - 1][:, :n_groups]
                of_cell = np.broadcast_to(np.minimum(cells, n_groups - 1), (n_nodes, len(cells)))
            else:
                about = slots.expected.shares[slot] if slots.expected.shares else None
                of_cell, found = _by_thresholds(cells, low[:, slot], high[:, slot], int(n_groups), about)
            groups.append(of_cell + first_group[-1])
            bases.append(found.base)
            thresholds.append(found.threshold)
            first_group.append(first_group[-1] + int(n_groups))
            first_cut.append(first_cut[-1] + found.base.shape[1])
        return cls(
            slots,
            n_cells,
            np.array(first_group),
            np.array(first_cut),
            np.ascontiguousarray(np.stack(groups, axis=1), np.int32),
            np.concatenate(bases, axis=1),
            np.concatenate(thresholds, axis=1),
            sets,
        )

    @property
    def n_cuts(self) -> int:
        """Cuts of a node."""
        return int(self.first_cut[-1])

    def scores(self, tables: NDArray[Any], most_common: int) -> NDArray[np.int64]:
        """Exact scores of some nodes: what cuts of the left and of the right child add to every cut.

        Parameters
        ----------
        tables : ndarray of shape (n_nodes, n_groups, n_groups, n_classes)
            Rows of the nodes by two groups, filled where the first is in no later a column.
        most_common : int
            How many classes of a leaf count.

        Returns
        -------
        ndarray of shape (n_nodes, 2, n_cuts, n_cuts)
        """
        from dpforest._curator import _kernels

        fill = _kernels.two_class_pair_scores if tables.shape[3] == 2 else _kernels.pair_scores
        return self._scored(tables, fill, most_common)

    def soft_scores(self, tables: NDArray[Any], finely: SoftUnits) -> NDArray[np.int64]:
        """Scores of leaves whose classes are drawn too, in finer units: `mechanisms.named`.

        Parameters
        ----------
        tables : ndarray
            As in `scores`.
        finely : SoftUnits
            What logarithms of sums over classes are made with.

        Returns
        -------
        ndarray of shape (n_nodes, 2, n_cuts, n_cuts)
        """
        from dpforest._curator import _kernels

        return self._scored(tables, _kernels.soft_pair_scores, *finely)

    def _scored(self, tables: NDArray[Any], fill: Callable[..., None], *how: Any) -> NDArray[np.int64]:
        """Fill the scores of some nodes by a kernel."""
        n_nodes, n_groups, _, n_classes = tables.shape
        every, first = np.arange(n_groups), self.first_group[1]
        seen, scratch = zeros((n_groups, n_classes), np.int64), zeros((7, n_classes), np.int64)
        out = np.empty((n_nodes, 2, self.n_cuts, self.n_cuts), np.int64)
        for table, found in zip(tables, out, strict=True):
            alone = table[every, every].astype(np.int64)
            scratch[0] = alone[:first].sum(axis=0)  # every row has one group of a column
            fill(table, alone, *self._changes, self.first_cut, *how, seen, scratch, found)
        return out

    def leaf_counts(self, tables: NDArray[Any], chosen: NDArray[np.int64]) -> NDArray[np.int64]:
        """Class counts of the leaves that chosen cuts of some nodes come to, left child first.

        Parameters
        ----------
        tables : ndarray
            As in `scores`.
        chosen : ndarray of shape (n_nodes, 3)
            Cuts of every node, its left and its right child; -1 sends everything left.

        Returns
        -------
        ndarray of shape (n_nodes, 4, n_classes)
        """
        return np.stack([self._of_leaves(*given) for given in zip(tables, chosen.tolist(), strict=True)])

    def _of_leaves(self, table: NDArray[Any], cuts: list[int]) -> NDArray[np.int64]:
        """Class counts of the leaves of one node."""
        every = np.arange(len(table))
        alone = table[every, every].astype(np.int64)
        total = alone[: self.first_group[1]].sum(axis=0)
        if cuts[0] < 0:
            return np.stack([total, *[np.zeros_like(total)] * 3])
        one, *others = (self._left_groups(cut) for cut in cuts)
        left, leaves = alone[one].sum(axis=0), []
        for is_right, other in enumerate(others):
            both = table[np.minimum.outer(one, other), np.maximum.outer(one, other)]
            first = both.sum(axis=(0, 1), dtype=np.int64)  # a row has one group of a column
            if is_right:
                first = alone[other].sum(axis=0) - first
            leaves += [first, (total - left if is_right else left) - first]
        return np.stack(leaves)

    def _left_groups(self, cut: int) -> NDArray[np.int64]:
        """Return the groups that a cut sends left."""
        slot = int(np.searchsorted(self.first_cut, cut, side="right")) - 1
        at, begin = cut - int(self.first_cut[slot]), int(self.first_group[slot])
        if slot in self.sets:
            return begin + np.flatnonzero(self.sets[slot][at])
        return np.arange(begin, begin + at + 1)

    @cached_property
    def _changes(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """Groups by which every cut differs from the one before in its column, as kernels take them.

        Of an ordered column that is one group more; of a nominal one those that changed sides.
        """
        begin, moved, sign = [0], [], []
        for slot, n_groups in enumerate(self.slots.n_groups):
            if slot in self.sets:
                steps = np.diff(self.sets[slot].astype(np.int64), axis=0, prepend=0)
            else:
                steps = np.eye(int(n_groups) - 1, int(n_groups), dtype=np.int64)
            for step in steps:
                groups = np.flatnonzero(step)
                begin.append(begin[-1] + len(groups))
                moved.append(self.first_group[slot] + groups)
                sign.append(step[groups])
        return np.array(begin), np.concatenate(moved), np.concatenate(sign)

    def split(
        self, chosen: NDArray[np.int64], trees: FlatTrees, level: int
    ) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Column and threshold of what was chosen, of the nodes of the level and of their children.

        Parameters
        ----------
        chosen : ndarray of shape (n_nodes, 3)
            Cuts of every node, its left and its right child; -1 cuts nothing.
        trees : FlatTrees
            The splits above the level.
        level : int
            Level of the nodes.

        Returns
        -------
        feature, threshold : ndarray of shape (1, 3 * n_nodes), int32
        """
        feature, threshold, _ = self._split(chosen, trees, level)
        return feature, threshold

    def split_named(
        self, chosen: NDArray[np.int64], trees: FlatTrees, level: int
    ) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int64]]:
        """Column and threshold as `split` has them, and the classes of all leaves, which `chosen` ends on.

        A child that sends everything left where its cut sent everything right has its leaves in turn.
        """
        feature, threshold, turned = self._split(chosen[:, :3], trees, level)
        classes = chosen[:, 3:].reshape(-1, 2).copy()
        classes[turned] = classes[turned, ::-1]
        return feature, threshold, classes.ravel()

    def _split(
        self, chosen: NDArray[np.int64], trees: FlatTrees, level: int
    ) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.bool_]]:
        """Column, threshold, and which children would have sent everything right."""
        n_nodes = len(chosen)
        cuts = np.concatenate([chosen[:, 0], chosen[:, 1:].ravel()])
        nodes = np.concatenate([np.arange(n_nodes), np.repeat(np.arange(n_nodes), 2)])
        slot = np.searchsorted(self.first_cut, np.maximum(cuts, 0), side="right") - 1
        feature = self.slots.columns[slot].astype(np.int32)
        threshold = np.where(cuts < 0, EVERYTHING_LEFT, self.threshold[nodes, cuts]).astype(np.int32)
        grown = replace(trees, feature=trees.feature.copy(), threshold=trees.threshold.copy())
        here = trees.level(level)
        grown.feature[0, here], grown.threshold[0, here] = feature[:n_nodes], threshold[:n_nodes]
        lower = threshold[n_nodes:]  # a view: the cuts of the node's box may be none of its child's
        cuts_something, goes_right = _sides(grown, level + 1, feature[n_nodes:], lower, self.n_cells)
        turned = goes_right & ~cuts_something & (cuts[n_nodes:] >= 0)
        lower[~cuts_something] = EVERYTHING_LEFT
        return feature[None], threshold[None], turned


def _sides(
    trees: FlatTrees,
    level: int,
    feature: NDArray[np.int32],
    threshold: NDArray[np.int32],
    n_cells: NDArray[np.int32],
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Tell of every node of a level whether a cut leaves cells of its box on both sides, and none left."""
    low, high, members = (found[0, :, 0] for found in trees.boxes(level, feature[None, :, None], n_cells))
    is_set = threshold < 0
    left = trees.left_sets[np.where(is_set, -threshold - 1, 0)]
    inside = (members & left).sum(axis=1)
    of_sets = (inside > 0) & (inside < members.sum(axis=1))
    both = np.where(is_set, of_sets, (low <= threshold) & (threshold < high))
    return both, np.where(is_set, inside == 0, threshold < low)


@dataclass(frozen=True)
class _Cuts:
    """Base weights and thresholds of one column, by node and cut."""

    base: NDArray[np.int64]
    threshold: NDArray[np.int32]


def _by_thresholds(
    cells: NDArray[np.int64],
    low: NDArray[np.int32],
    high: NDArray[np.int32],
    n_groups: int,
    expected: NDArray[np.float64] | None = None,
) -> tuple[NDArray[np.int64], _Cuts]:
    """Cut the cells low to high of every node into groups; narrow boxes have fewer."""
    boxes, node_of = np.unique(np.stack([low, high], axis=1).astype(np.int64), axis=0, return_inverse=True)
    # a box without cells has no rows either
    cuts = [first + _cuts_in(first, max(last, first), n_groups, expected) for first, last in boxes.tolist()]
    groups = np.stack([np.searchsorted(each, cells) for each in cuts])  # cuts that are below a cell
    is_cut = np.stack(cuts) < boxes[:, 1:]
    base = np.where(is_cut, FEATURE_WEIGHT // np.maximum(is_cut.sum(axis=1, keepdims=True), 1), 0)
    node_of = node_of.ravel()
    return groups[node_of], _Cuts(base[node_of], np.stack(cuts)[node_of].astype(np.int32))


def _cuts_in(first: int, last: int, n_groups: int, expected: NDArray[np.float64] | None) -> NDArray[np.int64]:
    """Last cells on the left of the cuts of a box, counted from its first cell.

    Where nothing is expected, see `_cuts_of`. Otherwise most groups are about equally common by the expected
    law, a part of which is even: rows lie elsewhere, too. Some cuts are close to the lower end, as there.
    """
    width = last - first + 1
    if expected is None or width <= n_groups:
        return _cuts_of(width, n_groups)
    law = partly_even(expected[None, first : last + 1], np.ones((1, width), np.bool_))[0]
    n_low = int(n_groups * NEAR_THE_END)
    wanted = np.arange(1, n_groups - n_low) / (n_groups - n_low)
    by_law = np.minimum(np.searchsorted(np.cumsum(law), wanted), width - 2)
    found = np.union1d(_near_the_end(int(by_law[0]), n_low), by_law)
    others = np.setdiff1d(np.arange(width - 1), found)  # where a cell is more than a group, there is room
    more = np.linspace(0, len(others) - 1, n_groups - 1 - len(found)).astype(np.int64)
    return np.sort(np.concatenate([found, others[more]]))


@lru_cache(maxsize=4096)
def _cuts_of(width: int, n_groups: int) -> NDArray[np.int64]:
    """Last cells on the left of the cuts of a box, in ascending order; those beyond it cut nothing.

    Most cuts are equally far apart. The others are close to the lower end, each twice as far from it or so as
    the one before: amounts and counts lie there, far below the bounds that are declared for them.

    Examples
    --------
    >>> _cuts_of(256, 16).tolist()
    [0, 3, 17, 35, 53, 72, 90, 108, 127, 145, 163, 181, 200, 218, 236]
    >>> _cuts_of(4, 6).tolist()
    [0, 1, 2, 3, 4]
    """
    n_cuts = n_groups - 1
    if width <= n_groups:
        return np.arange(n_cuts)
    n_low = int(n_groups * NEAR_THE_END)
    n_even = n_cuts - n_low
    even = (np.arange(1, n_even + 1) * width) // (n_even + 1) - 1
    found = np.union1d(_near_the_end(int(even[0]), n_low), even)
    rest = np.setdiff1d(np.arange(width - 1), found)[: n_cuts - len(found)]
    return np.sort(np.concatenate([found, rest]))


def _near_the_end(first: int, n_cuts: int) -> NDArray[np.int64]:
    """List so many cuts below the first of the others, each twice as far from the lower end or so."""
    return np.rint(max(first, 1) ** (np.arange(n_cuts) / max(n_cuts, 1))).astype(np.int64) - 1


def _by_sets(column: int, members: NDArray[np.uint8], subsets: Subsets) -> _Cuts:
    """List cuts of a nominal column: each category on its own, as far as these are listed, then others."""
    listed = subsets.of(column)[:, : members.shape[1]].astype(np.int64)  # wider columns have wider lists
    size = listed.sum(axis=1)
    # category 0 is never on the left, so it is alone where all others are
    alone = np.flatnonzero((size == 1) | (size == listed.shape[1] - 1))[:MOST_SUBSETS]
    others = np.setdiff1d(np.arange(len(listed)), alone)
    n_others = min(MOST_SUBSETS - len(alone), len(others))
    kept = np.concatenate([alone, others[np.linspace(0, len(others) - 1, n_others).astype(np.int64)]])
    threshold = np.broadcast_to(-(subsets.first[column] + kept) - 1, (len(members), len(kept)))
    inside = members.astype(np.int64) @ listed[kept].T
    proper = (inside > 0) & (inside < members.sum(axis=1, dtype=np.int64)[:, None])
    base = proper * (FEATURE_WEIGHT // np.maximum(proper.sum(axis=1, keepdims=True), 1))
    return _Cuts(base.astype(np.int64), threshold.astype(np.int32))
