"""Slips that are easily made, each planted in the real code and caught by a check that passes without it.

A row is a name, the change and the check. The change is a few words of the text of one function; a row whose
text is gone fails, so the table follows the code. Planted bugs that need many runs to be seen, and the
auditors that see them, are in `tests/audit/test_mutants.py`.
"""

from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import NamedTuple

import numpy as np
import pytest

from dpforest._curator import Utility
from dpforest._rows.pulls import Loss
from tests.curator import test_assignment as assignment
from tests.curator import test_directions as directions
from tests.curator import test_fits as fits
from tests.curator import test_gradients as movements
from tests.curator import test_largest_tables as largest
from tests.curator import test_named as named
from tests.curator import test_pairs as pairs
from tests.curator import test_sums as sums
from tests.curator.test_prices import assert_group_privacy, assert_priced
from tests.estimates import test_categories as naming
from tests.mechanisms import test_largest_values, test_named, test_stopping
from tests.mechanisms import test_objective as objective
from tests.mechanisms.test_likelihood_ratio import (
    test_no_neighbour_changes_a_probability_by_more_than_epsilon as keeps_epsilon,
)
from tests.mutants import checks
from tests.mutants.planting import Plant, constant, kernel_slip, slip
from tests.privacy import test_budget_filter as budget_filter
from tests.rows import test_gradients as gradients
from tests.rows import test_limits as limits
from tests.search import test_search as searching

pytestmark = pytest.mark.filterwarnings("ignore::dpforest.privacy.PrivacyLeakWarning")

QUERIES, SUMS, PAYMENT = (
    "dpforest._curator.queries:Curator",
    "dpforest._curator.sums",
    "dpforest._curator.payment",
)
UTILITIES, BACKEND = "dpforest._curator.utilities", "dpforest._rows.memory:MemoryRows"
SCORES = "dpforest._rows.scores"
GRADIENTS = "dpforest._curator.gradients:GradientQueries"
ESTIMATES = "dpforest._curator.estimates:EstimateQueries"
RESIDUAL, GRID = "dpforest._rows.residuals:Residual", "dpforest._rows.rows:Grid"
TREES = "dpforest._curator.assignment:KeyedTrees"
TERMS, LOSS, FITS = (
    "dpforest.mechanisms.objective:terms",
    "dpforest._rows.pulls:Loss",
    "dpforest._curator.fits",
)
WORDS, SPLITS = "dpforest.mechanisms.randomness:RandomWords", "dpforest.mechanisms.splits"
ZCDP = Fraction(1, 10**6)


TWICE_THE_RATE = slip(
    f"{PAYMENT}:Payments.for_choice", ("epsilon * unit / score_range", "epsilon * unit * 2 / score_range")
)
fitted_at = objective.test_all_parts_of_epsilon_add_up
frozen_gradient = fits.test_one_row_moves_the_gradient_at_a_frozen_answer_by_what_was_paid


class Mutant(NamedTuple):
    """A slip, and the check that must fail under it."""

    plant: Plant
    check: Callable[[], None]


def priced(query: str, delta: Fraction | int = 0) -> Callable[[], None]:
    return partial(assert_priced, query, delta)


def with_patch(test: Callable[..., None], *args: object) -> Callable[[], None]:
    """Call a test that wants pytest's monkeypatch."""

    def check() -> None:
        with pytest.MonkeyPatch.context() as patch:
            test(patch, *args)

    return check


MUTANTS = {
    # --- prices -----------------------------------------------------------------------------------------
    "permute-and-flip priced as exponential under zCDP": Mutant(
        slip(f"{PAYMENT}:Payments.for_choice", ("epsilon = pure_epsilon", "epsilon = exponential_epsilon")),
        priced("leaf_labels", ZCDP),
    ),
    "block count forgotten under zCDP": Mutant(
        slip(f"{PAYMENT}:Payments.for_sums", ("squared = len(blocks) * bound**2", "squared = bound**2")),
        priced("lookup_sums", ZCDP),
    ),
    "copies of trees forgotten": Mutant(
        slip(f"{QUERIES}._copies", ("return trees.n_trees if", "return 1 if")), priced("leaf_histograms")
    ),
    "copies forgotten in the amount of a choice": Mutant(
        slip(f"{PAYMENT}:Payments.for_choice", ("* share / copies", "* share")), priced("medians")
    ),
    "rounding of nested choices not paid for": Mutant(
        slip(
            "dpforest.mechanisms.nested:nested_range",
            ("NESTED_UNIT * score_range + 4", "NESTED_UNIT * score_range"),
        ),
        priced("paired_splits"),
    ),
    "two levels at twice epsilon": Mutant(TWICE_THE_RATE, priced("paired_splits")),
    "rounding of sums over classes not paid for": Mutant(
        slip(
            "dpforest.mechanisms.named:named_range",
            ("NESTED_UNIT * score_range + 36", "NESTED_UNIT * score_range + 4"),
        ),
        priced("named_splits"),
    ),
    "classes of leaves at twice epsilon": Mutant(TWICE_THE_RATE, priced("named_splits")),
    "the most common class of a leaf told as it is": Mutant(
        slip(
            "dpforest.mechanisms.named:named_exponential",
            (
                "named = choose(flat, alike, rate, words, n_threads=n_threads)",
                "named = flat.argmax(axis=1)",
            ),
        ),
        test_named.check_classes_are_drawn,
    ),
    "a leaf counted with the rows of the other": Mutant(
        slip("dpforest._curator.pairs:PairCandidates._of_leaves", (" - first]", "]")),
        named.check_classes_of_leaves,
    ),
    "leaves counted with the rows of another node": Mutant(
        slip(
            "dpforest._curator.pairs:PairCandidates.leaf_counts",
            ("in zip(tables,", "in zip(tables[:1].repeat(len(tables), 0),"),
        ),
        named.check_leaves_of_several_nodes,
    ),
    "rivals at twice epsilon": Mutant(TWICE_THE_RATE, priced("paired_splits_or_direction")),
    "directions at twice epsilon": Mutant(TWICE_THE_RATE, priced("best_direction")),
    "a row counted along a direction by its place": Mutant(
        kernel_slip(
            "_rows", ("table[direction, at, codes[row]] += 1", "table[direction, at, codes[row]] += at")
        ),
        directions.test_one_row_raises_every_score_by_zero_or_one,
    ),
    "the row of a child counted in both children": Mutant(
        kernel_slip("_curator", ("right0 += up * (alone[h, 0] - seen[h, 0])", "right0 += up * alone[h, 0]")),
        pairs.check_two_classes,
    ),
    "features by median at twice epsilon": Mutant(
        slip(
            f"{QUERIES}.features_by_median",
            ("median_scores.range(is_class)", "median_scores.range(is_class) // 2"),
        ),
        priced("features_by_median"),
    ),
    "range at the exact median for one half only": Mutant(
        slip(f"{UTILITIES}:_MedianScores.range", ("else 3 * (COARSE", "else 2 * (COARSE")),
        priced("features_by_median, numbers"),
    ),
    "noise of soft histograms as for one count": Mutant(
        slip(
            f"{QUERIES}.leaf_soft_histograms", ("levels, l2_squared=levels**2", "levels, l2_squared=levels")
        ),
        priced("leaf_soft_histograms", ZCDP),
    ),
    "quantiles priced as medians": Mutant(
        slip(
            f"{SUMS}:SumQueries.target_quantile",
            ("quantile_range(numerator, denominator)", "quantile_range()"),
        ),
        priced("target_quantile"),
    ),
    "clip levels of residuals priced as medians": Mutant(
        slip(
            f"{GRADIENTS}.residual_quantile", ("quantile_range(quantile, QUANTILE_PARTS)", "quantile_range()")
        ),
        priced("residual_quantile", ZCDP),
    ),
    "columns of a schema priced as one": Mutant(
        slip(f"{ESTIMATES}.group_counts", ("l1=len(groups)", "l1=1")), priced("group_counts")
    ),
    "losses of a score priced as counts": Mutant(
        slip(f"{ESTIMATES}.scored_sums", ("l1=levels", "l1=1")), priced("scored_sums")
    ),
    "products priced as sums": Mutant(
        slip(f"{SUMS}:SumQueries.product_sums", ("len(upper[0]), bound**2", "len(upper[0]), bound")),
        priced("product_sums"),
    ),
    "mixtures priced as numbers of rows": Mutant(
        slip(f"{SUMS}:SumQueries.best_mixture", ("1, MIXTURE_UNIT, EXP", "1, 1, EXP")), priced("best_mixture")
    ),
    "probabilities worth more than half a unit": Mutant(
        kernel_slip(
            "_rows",
            ("shift = one * one // (MIXTURE_UNIT // 4)", "shift = one * one // (MIXTURE_UNIT // 2)"),
            ("min(max(brier, 0), MIXTURE_UNIT // 2)", "brier"),
        ),
        sums.test_what_a_row_adds_to_mixtures_is_between_nothing_and_a_unit,
    ),
    "a changed label counted once": Mutant(
        slip(f"{QUERIES}.leaf_histograms", ("l1 = 2 if", "l1 = 1 if")), priced("leaf_histograms, labels")
    ),
    "a changed label counted once in class counts": Mutant(
        slip(f"{QUERIES}.class_counts", ("moved = 2 if", "moved = 1 if")), priced("class_counts, labels")
    ),
    "weights of a changed label counted once": Mutant(
        slip(f"{QUERIES}.label_sums", ("moved = 1 if two else 2", "moved = 1")), priced("label_sums", ZCDP)
    ),
    "Gini with the range of binary labels": Mutant(
        slip(f"{UTILITIES}:Utility.range_for", ("else 2 * GINI_UNIT", "else GINI_UNIT")), priced("gini")
    ),
    "rates rounded up": Mutant(
        slip("dpforest.mechanisms.rates:Rate.floor", ("// x.denominator", "// x.denominator + 1")),
        checks.rates_are_rounded_down,
    ),
    "variances rounded down": Mutant(
        slip(
            "dpforest.mechanisms.noise:_standard_deviation",
            ("-(-(top << 2 * k) // bottom)", "(top << 2 * k) // bottom"),
        ),
        checks.variances_are_rounded_up,
    ),
    "variances rounded down by one": Mutant(
        slip("dpforest.mechanisms.noise:_standard_deviation", ("- 1) + 1, 2**k", "- 2) + 1, 2**k")),
        checks.variances_are_rounded_up,
    ),
    "rho of a group by k instead of k squared": Mutant(
        slip("dpforest.privacy.plan:BudgetPlan.__post_init__", ("/ multiplier**2", "/ multiplier")),
        partial(assert_group_privacy, ZCDP),
    ),
    "two rows of a person that move one count paid apart": Mutant(
        slip(
            "dpforest.forests.semi_supervised:SemiSupervisedPartitioningEnsembleClassifier._counted",
            ("return 4 if self.delta else 2", "return 2"),
        ),
        checks.persons_in_both_sets_cost_what_was_promised,
    ),
    "a pool overdrawn": Mutant(
        slip("dpforest.privacy.ledger:Ledger.charge", ("if cost > remaining", "if cost > holds")),
        checks.a_pool_is_not_overdrawn,
    ),
    "a query that is not charged": Mutant(
        slip(
            f"{PAYMENT}:Payments.for_choice",
            ("self._charge(pool, share,", "self._charge(pool, share / 2,"),
        ),
        checks.looks_are_charged,
    ),
    "a promise rounded down": Mutant(
        slip(
            "dpforest.privacy.plan:BudgetPlan.guarantee",
            ("float_at_least(self.epsilon)", "float(self.epsilon)"),
        ),
        checks.a_promise_is_not_below_what_is_spent,
    ),
    # --- ranges and bounds ------------------------------------------------------------------------------
    "range of medians off by one": Mutant(
        slip(f"{SPLITS}:quantile_range", ("return 2 * max", "return -1 + 2 * max")),
        partial(keeps_epsilon, "median"),
    ),
    "range of quantiles on one side only": Mutant(
        slip(f"{SPLITS}:quantile_range", ("max(numerator, denominator - numerator)", "numerator")),
        partial(keeps_epsilon, "quartile"),
    ),
    "range of centred scores halved": Mutant(
        slip(f"{UTILITIES}:Centres.of_shares", ("np.maximum(4 *", "np.maximum(2 *")),
        partial(checks.scores_move_within, Utility.CENTRED),
    ),
    "range of centred targets for one side": Mutant(
        slip(f"{UTILITIES}:Centres.of_means", ("2 * np.maximum(whole, levels - whole)", "2 * whole")),
        partial(checks.scores_move_within, Utility.CENTRED_TARGET),
    ),
    "shares that do not sum to one": Mutant(
        slip(f"{UTILITIES}:Centres.of_shares", ("if (whole < 1).any()", "if False")),
        largest.test_shares_of_more_classes_than_units_are_refused,
    ),
    "soft histogram scaled wrongly": Mutant(
        slip(f"{QUERIES}.leaf_soft_histograms", ("levels * counts - sums", "counts - sums")),
        checks.one_row_moves_both_sums_of_a_leaf_by_the_levels,
    ),
    "residual target not clipped above": Mutant(
        slip(f"{RESIDUAL}.run", ("0, self.levels)", "0, None)")),
        checks.what_is_left_of_a_target_stays_on_the_grid,
    ),
    "residual target not clipped below": Mutant(
        slip(f"{RESIDUAL}.run", ("0, self.levels)", "None, self.levels)")),
        checks.what_is_left_of_a_target_stays_on_the_grid,
    ),
    "target level not clipped": Mutant(
        slip(
            "dpforest.schema.target:Range.encode_part",
            (
                "np.clip(np.where(missing, self.low, doubles), self.low, self.high)",
                "np.where(missing, self.low, doubles)",
            ),
            ("np.clip(rounded, 0, self.levels)", "rounded"),
        ),
        checks.targets_stay_on_the_grid,
    ),
    "sums beyond their bound": Mutant(
        slip(f"{SUMS}:_check_bound", ("np.abs(block.values)", "block.values")),
        checks.blocks_stay_within_their_bound,
    ),
    "sums with one line beyond their bound": Mutant(
        slip(f"{SUMS}:_check_bound", (".sum(axis=1).max()", ".sum(axis=1).min()")),
        checks.blocks_stay_within_their_bound,
    ),
    "class scores from a table of numbers": Mutant(
        slip(
            f"{QUERIES}.splits",
            (
                "in (Utility.SQUARED_ERROR, Utility.CENTRED_TARGET)",
                "in (Utility.GINI, Utility.CENTRED_TARGET)",
            ),
        ),
        partial(checks.splits_are_scored_by_their_utility, Utility.GINI),
    ),
    "the unit of Gini for squared errors": Mutant(
        slip(f"{QUERIES}.splits", ("utility.unit_for(self.schema)", "64")),
        partial(checks.splits_are_scored_by_their_utility, Utility.SQUARED_ERROR),
    ),
    "targets not made coarse at the exact median": Mutant(
        slip(f"{QUERIES}.features_by_median", ("else By.COARSE_TARGET", "else By.TARGET")),
        checks.exact_medians_see_coarse_targets,
    ),
    "labelled rows in questions about others": Mutant(
        slip(f"{QUERIES}.medians", ("By.UNLABELLED if unlabelled_only else By.NOTHING", "By.NOTHING")),
        checks.labelled_rows_do_not_move_questions_about_others,
    ),
    **{
        f"{query} sold to label privacy": Mutant(
            slip(f"{SUMS}:SumQueries.{query}", ("self._demand_row_privacy()", "pass")),
            checks.sums_are_for_rows_that_come_and_go,
        )
        for query in ("lookup_sums", "product_sums", "target_quantile", "best_mixture")
    },
    "features of private rows shown": Mutant(
        slip(f"{QUERIES}._public_rows", ("if not self._is_label_privacy", "if False")),
        checks.features_are_public_under_label_privacy_only,
    ),
    "medians for free": Mutant(
        slip(f"{PAYMENT}:Payments.free_choice", ("is not NeighboringRelation.LABEL_CHANGE", "is None")),
        checks.features_are_public_under_label_privacy_only,
    ),
    # --- gradients --------------------------------------------------------------------------------------
    "gradients not clipped below": Mutant(
        slip(f"{SCORES}:logistic_tables", ("-unit, unit)", "-2 * unit, unit)")),
        partial(gradients.test_gradients_and_half_hessians_are_no_longer_than_their_units, "two classes", 64),
    ),
    "gradients not clipped above": Mutant(
        slip(f"{SCORES}:logistic_tables", ("-unit, unit)", "-unit, 2 * unit)")),
        partial(gradients.test_gradients_and_half_hessians_are_no_longer_than_their_units, "two classes", 64),
    ),
    "Hessians not counted in the norm of nodes": Mutant(
        slip(f"{GRADIENTS}.node_sums", ("unit**2 + half**2", "unit**2")), priced("node_sums", ZCDP)
    ),
    "curvature not counted in the norm of a step": Mutant(
        slip(f"{GRADIENTS}.step_length", ("top**2 + lower**2)", "top**2)")), priced("step_length", ZCDP)
    ),
    "length of a step for free": Mutant(
        slip(
            f"{GRADIENTS}.step_length",
            (
                "noise(self._rows.fold(StepSums(self._scores, table, reach, lower)))",
                "noise(np.zeros(2, int)); "
                "sums = self._rows.fold(StepSums(self._scores, table, reach, lower))",
            ),
        ),
        checks.boosted_models_replay,
    ),
    "range of cuts for one side": Mutant(
        slip(f"{GRADIENTS}.best_cuts", ("1, 2 * self._scores.unit", "1, self._scores.unit")),
        priced("best_cuts", ZCDP),
    ),
    "marginals priced for one feature": Mutant(
        slip(f"{GRADIENTS}.marginals", ("query, 1, NO_L1, n_features)", "query, 1, NO_L1, 1)")),
        priced("marginals", ZCDP),
    ),
    "gradients not shortened for long features": Mutant(
        slip(
            "dpforest._rows.gradients:GradientSums.add",
            ("_gradients.shorten_for(rows.cells, self.norms, self.longest, self.scores.unit, g)", "pass"),
        ),
        partial(
            movements.test_one_row_moves_tables_of_gradients_within_their_norms,
            "gradient sums",
            3,
            movements.CLASSES,
        ),
    ),
    "gradients of scores that were not released": Mutant(
        slip(
            "dpforest._boosting.learner:_start_classes",
            (
                "whole = state.whole(scores)",
                "from dpforest._rows import TargetCounts; curator = state.curator; "
                "whole = state.whole(scores) + curator._rows.fold(TargetCounts(curator._grid))[:1]",
            ),
        ),
        checks.boosted_models_replay,
    ),
    "scores that another program left behind": Mutant(
        slip(f"{SCORES}:Scores.run", ("self.steps[kept[0] - 1] is not kept[1]", "False")),
        gradients.test_a_block_goes_on_from_where_it_was_or_begins_anew,
    ),
    # --- secrets and noise ------------------------------------------------------------------------------
    "rows to trees round-robin": Mutant(
        slip(f"{TREES}.of", ("return drawn", "return (np.arange(n) % self.n_trees).astype(np.uint16)")),
        checks.rows_share_a_tree_by_chance,
    ),
    "rows to trees in equal groups": Mutant(
        slip(
            f"{TREES}.of",
            (
                "return drawn",
                "return (np.argsort(tape.uniform_below(2**60, n)) % self.n_trees).astype(np.uint16)",
            ),
        ),
        checks.rows_share_a_tree_by_chance,
    ),
    "every block of rows with the trees of the first": Mutant(
        slip(f"{TREES}.of", ("RandomWords.keyed(self.key, block)", "RandomWords.keyed(self.key, 0)")),
        partial(assignment.test_trees_are_uniform_in_pairs_of_blocks_too, 3),
    ),
    "rows to trees by a key that everyone knows": Mutant(
        slip("dpforest._curator.assignment:KeyedTrees.draw", ("words.take(4).tobytes()", "bytes(32)")),
        checks.rows_share_a_tree_by_chance,
    ),
    "empty leaves without noise": Mutant(
        slip(
            f"{QUERIES}.leaf_histograms",
            (
                "return noise(self._leaf_counts(trees))",
                "counts = self._leaf_counts(trees); full = counts.any(axis=2, keepdims=True); "
                "return Noisy(np.where(full, noise(counts).values, counts), 0.0)",
            ),
        ),
        checks.empty_leaves_are_noisy,
    ),
    "empty leaves of numbers without noise": Mutant(
        slip(
            f"{QUERIES}.leaf_soft_histograms",
            ("return noise(", "return Noisy(np.where(counts == 0, 0, 1)[..., None] * noise("),
            ("axis=-1))", "axis=-1)).values, 0.0)"),
        ),
        checks.empty_leaves_are_noisy,
    ),
    "noise drawn once for all leaves": Mutant(
        slip(
            f"{QUERIES}.leaf_histograms",
            (
                "return noise(self._leaf_counts(trees))",
                "counts = self._leaf_counts(trees); "
                "return Noisy(counts + noise(0 * counts[:, :1]).values, 0.0)",
            ),
        ),
        checks.leaves_have_noise_of_their_own,
    ),
    "the other class released as it is": Mutant(
        slip(
            f"{QUERIES}.leaf_histograms",
            ("counts.sum(axis=-1, keepdims=True) - second", "counts[..., :1]"),
        ),
        checks.both_counts_of_two_classes_are_noisy,
    ),
    "the other class's sums released as they are": Mutant(
        slip(
            f"{QUERIES}.label_sums",
            ("sums.sum(axis=1, keepdims=True) - second", "sums[:, :1]"),
        ),
        checks.both_counts_of_two_classes_are_noisy,
    ),
    "a dropped random word": Mutant(
        slip(f"{WORDS}.run", ("kept = tape[used:]", "kept = tape[used + 1:]")),
        checks.no_word_is_dropped_where_the_tape_is_cut,
    ),
    "unfinished items begun anew": Mutant(
        slip(f"{WORDS}.run", ("kept = tape[used:]", "kept = tape[:0]")),
        checks.no_word_is_dropped_where_the_tape_is_cut,
    ),
    "system randomness from a seed": Mutant(
        slip(f"{WORDS}.system", ("cls(os.urandom)", "cls.seeded(0)")), checks.system_words_are_new_every_time
    ),
    "minus zero counted as a second zero": Mutant(
        kernel_slip("mechanisms", ("if size > 0:", "if size >= 0:")), checks.laplace_noise_counts_zero_once
    ),
    "candidates are the observed values": Mutant(
        slip(
            f"{SPLITS}:quantile_utilities", ("return utilities, base", "return utilities, base * (table > 0)")
        ),
        checks.thresholds_do_not_follow_rows,
    ),
    "empty nodes skipped": Mutant(
        slip(f"{PAYMENT}:_choose", ("weights.any(axis=1)\n", "weights.any(axis=1) & scores.any(axis=1)\n")),
        checks.empty_nodes_choose_too,
    ),
    "a block counted by two threads": Mutant(
        slip("dpforest._rows.memory:fold_blocks", ("range(len(blocks))", "[*range(len(blocks)), 0]")),
        with_patch(limits.test_tables_do_not_depend_on_the_blocks_that_are_added, 2),
    ),
    "rows without a label counted": Mutant(
        kernel_slip("_rows", ("        code = codes[i]\n", "        code = max(codes[i], 0)\n")),
        checks.rows_without_a_label_count_nowhere,
    ),
    # --- width of integers ------------------------------------------------------------------------------
    "more rows than integers have room for": Mutant(
        slip(f"{BACKEND}.__init__", ("if len(cells) > MAX_ROWS", "if len(cells) > MAX_ROWS + 1")),
        with_patch(limits.test_too_many_rows_are_refused_before_the_charge),
    ),
    "tables of 32 bits": Mutant(
        constant("dpforest._rows.memory:ROWS_IN_INT32", 2**41),
        with_patch(limits.test_counts_of_the_largest_table, 1),
    ),
    "Gini that leaves 64 bits": Mutant(
        kernel_slip("_curator", ("FEW = 2**26", "FEW = 2**41")),
        partial(largest.test_gini_of_the_largest_table_with_many_classes, 2),
    ),
    "squared errors of all levels": Mutant(
        constant("dpforest._rows.tables:ERROR_LEVELS", 2**16),
        largest.test_a_target_of_most_levels_keeps_the_range_of_squared_errors,
    ),
    "bounds that sums have no room for": Mutant(
        slip(f"{SUMS}:_check_bound", ("if per_row > MAX_PER_ROW", "if bound > MAX_PER_ROW")),
        largest.test_bounds_one_step_beyond_are_refused_before_the_charge,
    ),
    "quantiles that scores have no room for": Mutant(
        slip(f"{SPLITS}:quantile_range", ("<= 2**20:", "<= 2**24:")),
        test_largest_values.test_quantiles_too_fine_for_the_largest_table_are_refused,
    ),
    "two rows with one place at the median": Mutant(
        kernel_slip("_curator", ("np.uint64(48)", "np.uint64(32)")),
        largest.test_priorities_of_the_largest_table_are_different,
    ),
    "cells that no table has": Mutant(
        slip(f"{GRID}.check", ("(cells.max(axis=0) >= self.n_cells).any()", "False")),
        partial(
            limits.test_what_a_schema_does_not_have_is_refused_whole,
            {"cells": np.array([[9, 0, 0]], np.uint8)},
        ),
    ),
    "residuals that no table has": Mutant(
        slip(
            "dpforest._rows.residuals:Residual.__post_init__",
            ("self.levels <", "self.levels <="),
        ),
        limits.test_residuals_that_do_not_fit_are_refused,
    ),
    "levels that no table has": Mutant(
        slip(f"{GRID}.check", ("target.max(initial=-1) >= self.n_codes", "False")),
        partial(
            limits.test_what_a_schema_does_not_have_is_refused_whole, {"target": np.array([16384], np.int32)}
        ),
    ),
    # --- categories that are found ------------------------------------------------------------------------
    "a threshold for one column": Mutant(
        slip(f"{PAYMENT}:Payments.for_naming", ("rows * columns, rows)", "rows, rows)")),
        naming.test_mechanisms_of_names_run_at_what_was_paid,
    ),
    "a person's rows forgotten in the threshold": Mutant(
        slip("dpforest.mechanisms.thresholds:naming_threshold", ("return rows +", "return 1 +")),
        checks.three_rows_of_a_person_are_not_named,
    ),
    "loose deltas not added": Mutant(
        slip("dpforest.privacy.composition:Cost.__add__", (", self.delta + other.delta)", ", self.delta)")),
        partial(budget_filter.test_no_analyst_with_loose_steps_beats_the_ceiling, 1, "1/50", "1/100"),
    ),
    # --- searches ----------------------------------------------------------------------------------------
    "a fixed number of runs": Mutant(
        slip("dpforest.mechanisms.stopping:random_runs", ("while not _coin(gamma, words)", "while runs < 9")),
        partial(test_stopping.test_the_law_of_the_number_of_runs, Fraction(1)),
    ),
    "the best of many runs priced as one": Mutant(
        slip("dpforest.search.candidates:plan_for", ("1 / (2 + eta)", "1 / (1 + eta)")),
        partial(searching.test_a_run_gets_its_part_of_epsilon_and_the_choice_the_rest, 1),
    ),
    "the score of a run for free": Mutant(
        slip("dpforest.search.runs:Trial.__call__", ("Part(self.folds, held_out=False)", "None")),
        partial(
            searching.test_a_row_is_seen_by_one_half_of_a_run_which_costs_its_epsilon, 60, True, "accuracy"
        ),
    ),
    "losing runs kept": Mutant(
        slip(
            "dpforest.search.runs:best_of",
            ("other = run()", "other = run(); best_of.__dict__.setdefault('kept', []).append(other)"),
        ),
        checks.losing_runs_are_forgotten,
    ),
    # --- life of a model --------------------------------------------------------------------------------
    "rows kept behind the curator": Mutant(
        slip(f"{QUERIES}.__exit__", ("del self._rows", "self._kept = self._rows")),
        checks.rows_are_gone_when_the_curator_is,
    ),
    "looks after the release": Mutant(
        slip(f"{QUERIES}.__exit__", ("self.ledger.freeze()", "pass")),
        checks.rows_are_gone_when_the_curator_is,
    ),
    "a fitted attribute surviving a refit": Mutant(
        slip(
            "dpforest.forests.release:Releasing._unfitted_copy",
            (' if not name.endswith("_")', ""),
        ),
        checks.nothing_of_an_earlier_fit_survives,
    ),
    "a void fit charged": Mutant(
        slip(
            "dpforest.forests.charging:Charging._payer",
            ("is not None and voids", "is not None and not voids"),
        ),
        checks.a_void_fit_is_not_charged,
    ),
    "a fit for free where the accountant is out of reach": Mutant(
        slip("dpforest.forests.charging:Charging._payer", ("raise payer.refusal()", "return None")),
        checks.a_fit_out_of_reach_of_its_accountant_is_refused,
    ),
    # --- fits -------------------------------------------------------------------------------------------
    "a ridge that nobody pays for": Mutant(
        slip(TERMS, (" - problem.bend / Fraction(ridge)", "")), partial(fitted_at, Fraction(1), (1,))
    ),
    "rounding of the linear term forgotten": Mutant(
        slip(TERMS, (" + problem.n_outputs * max(problem.blocks)", "")),
        partial(fitted_at, Fraction(1), (3, 1, 40)),
    ),
    "a computed minimum taken for the true one": Mutant(
        slip(TERMS, ("math.ceil(apart * 2.0**grid) + problem.size", "problem.size")),
        partial(fitted_at, Fraction(1), (3, 1, 40)),
    ),
    "pulls at the own class only": Mutant(
        slip(f"{LOSS}.reach", ("2 * MOST_PULL", "MOST_PULL")),
        partial(
            fits.test_one_row_moves_the_gradient_at_a_frozen_answer_by_what_was_paid, Loss.SEVERAL_CLASSES
        ),
    ),
    "second derivatives of one feature only": Mutant(
        slip(f"{FITS}:_Fit.__init__", ("longest.max(axis=1).sum()", "longest.max()")),
        with_patch(fits.test_it_runs_at_what_was_paid, Loss.TWO_CLASSES),
    ),
    "a fit to more rows than its errors are bounded for": Mutant(
        slip(f"{FITS}:FitQueries.fitted_weights", ("if self._n_rows() > MAX_FITTED_ROWS", "if False")),
        with_patch(fits.test_more_rows_than_the_errors_were_bounded_for_are_refused_and_cost_nothing),
    ),
    "a seed that is not mentioned": Mutant(
        slip("dpforest.forests.base:PrivateForest._voids", ("if self.random_state is not None", "if False")),
        checks.a_void_fit_says_so,
    ),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_the_check_passes_on_the_code_as_it_is(name: str) -> None:
    MUTANTS[name].check()


@pytest.mark.parametrize("name", MUTANTS)
def test_the_check_fails_under_the_slip(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    MUTANTS[name].plant(monkeypatch)
    with np.errstate(all="ignore"), pytest.raises((AssertionError, pytest.fail.Exception)):
        MUTANTS[name].check()
