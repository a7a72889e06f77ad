"""Bojarski et al. (2014), Theorems 5.6 to 5.9: noisy forests of height 1.

Both rules for negative counts are tried, the paper's and the repaired one. A record's label decides all
about it, so a forest is k noisy leaves per label.
"""

import math

import numpy as np
import pytest

from dpforest.papers.theory import private_random_trees as prt
from dpforest.papers.theory.random_trees import majority_with_margin

RULES = ("majority", "threshold", "probability")


def noisy_positive_shares(rng, positive, negative, scale, rule):
    """Released share of label 1 in every leaf; negative counts by Algorithm 2 ("uniform") or set to 0."""
    positive = positive + rng.laplace(0, scale, positive.shape)
    negative = negative + rng.laplace(0, scale, negative.shape)
    if rule == "uniform":
        drawn = (positive < 0) | (negative < 0)
        total = np.where(drawn, 1.0, positive + negative)
        return np.where(drawn, rng.random(positive.shape), positive / total)
    positive, negative = np.maximum(positive, 0), np.maximum(negative, 0)
    return positive / np.maximum(positive + negative, 1e-300)


def label_forest(rng, n, trees, epsilon, copies, minority, rule):
    """Shares seen by positive and by negative records when ``copies`` of the attributes equal the label.

    Such an attribute puts the labels into two pure leaves; a constant one puts all records into one leaf.
    """
    scale = prt.laplace_scale(trees, epsilon)
    pure = rng.random(trees) < copies
    positives, negatives = minority * n, (1 - minority) * n
    mixed = noisy_positive_shares(rng, np.full(trees, positives), np.full(trees, negatives), scale, rule)
    ones = noisy_positive_shares(rng, np.full(trees, positives), np.zeros(trees), scale, rule)
    zeros = noisy_positive_shares(rng, np.zeros(trees), np.full(trees, negatives), scale, rule)
    return np.where(pure, ones, mixed), np.where(pure, zeros, mixed)


def expected_error(seen_by_positive, seen_by_negative, minority, voting):
    says_one = []
    for shares in (seen_by_positive, seen_by_negative):
        if voting == "majority":
            says_one.append(float((shares > 0.5).mean() > 0.5))
        else:
            average = float(shares.mean())
            says_one.append(float(average > 0.5) if voting == "threshold" else average)
    return minority * (1 - says_one[0]) + (1 - minority) * says_one[1]


@pytest.mark.parametrize("voting", ["majority", "threshold"])
def test_theorem_5_6_is_refuted_by_the_uniform_rule_and_repaired_by_clamping(voting):
    # Positive records: goodness 0.6 and weight 0.6 + 0.4 * 0.05 = 0.62, both at least 1/2 + delta + 1/K; the
    # negative ones have more. The theorem says: no error. Averages are 0.47 (share) and 0.45 (votes) with a
    # standard error of 0.0035 at 20,000 trees, eight below 1/2: a false alarm has probability below 1e-14.
    rng, n, trees, epsilon, delta, light_share = np.random.default_rng(0), 10**11, 20_000, 1.0, 0.06, 0.04
    assert 0.6 - delta - light_share >= 0.5 - 1e-12
    assert prt.private_confidence(n, trees, 1, epsilon, delta, light_share, as_published=True) > 0.9999
    broken = label_forest(rng, n, trees, epsilon, copies=0.6, minority=0.05, rule="uniform")
    repaired = label_forest(rng, n, trees, epsilon, copies=0.6, minority=0.05, rule="clamp")
    assert expected_error(*broken, 0.05, voting) == pytest.approx(0.05)
    assert expected_error(*repaired, 0.05, voting) == 0.0


def test_theorems_5_8_and_5_9_are_refuted_by_the_uniform_rule_and_repaired_by_clamping():
    # Pure leaves in 999 of 1000 trees: half of them become uniform, so a quarter of the labels is wrong. The
    # mean of 10,000 shares has a standard error of 0.004; 0.03 is seven of them (3e-12).
    rng, n, trees, error = np.random.default_rng(1), 10**10, 10_000, 0.0005
    printed = prt.private_error_bound(error, 0.1, 1 / 40, "probability", 0.05, as_published=True)
    assert (
        printed <= prt.optimal_forest_bound(error, n, 1, 1.0, "probability", as_published=True).error < 0.202
    )
    broken = label_forest(rng, n, trees, 1.0, copies=0.999, minority=0.5, rule="uniform")
    repaired = label_forest(rng, n, trees, 1.0, copies=0.999, minority=0.5, rule="clamp")
    assert expected_error(*broken, 0.5, "probability") == pytest.approx(0.25, abs=0.03)
    assert expected_error(*repaired, 0.5, "probability") < 0.01


@pytest.mark.parametrize("generalization", [False, True])
@pytest.mark.parametrize("voting", RULES)
@pytest.mark.parametrize("copies", [0.75, 0.9, 0.99])
def test_corrected_bounds_hold_for_clamped_forests(voting, copies, generalization):
    # The bound is claimed with confidence above 1 - 1e-8 for each of the eighteen cases.
    rng, n, trees, epsilon = np.random.default_rng(2), 10**11, 60_000, 1.0
    delta, light_share, slack = 0.08, 0.04, 0.01 if voting == "probability" else None
    confidence = prt.private_confidence(
        n, trees, 1, epsilon, delta, light_share, slack, generalization=generalization
    )
    assert confidence > 1 - 1e-8
    train, test = rng.binomial(n, 0.3, 2) / n
    scored = test if generalization else train
    limit = prt.private_error_bound(
        (1 - copies) * scored, delta, light_share, voting, slack or 0.0, generalization=generalization
    )
    seen = label_forest(rng, n, trees, epsilon, copies, train, "clamp")
    achieved = expected_error(*seen, scored, voting)
    assert achieved <= limit
    assert limit < 1 or copies < 0.8


def test_share_moves_little_while_noise_is_small():
    # The step that replaces the supplement's second concentration argument, by exhaustive corners.
    for delta in (0.05, 0.2, 0.49):
        small = delta / 24
        for share in np.linspace(0, 1, 101):
            for first in (-small, small):
                for second in (-small, small):
                    positive, negative = max(share + first, 0), max(1 - share + second, 0)
                    assert abs(positive / (positive + negative) - share) <= delta / 23


@pytest.mark.parametrize("delta", [0.01, 0.1, 0.3, 0.49])
def test_margins_cover_what_can_move_a_majority(delta):
    # Training: noise of delta/24 of the leaf. Test: shares move by delta/2, the training leaf may be smaller.
    shrunk = 1 - delta / (4 + delta)
    needed = {False: delta / 24, True: delta / 2 + delta / 24 / shrunk}
    for generalization, margin in needed.items():
        least = majority_with_margin(0.01, 0.01, delta, margin)
        assert (
            prt.private_error_bound(0.01, delta, 0.01, "majority", generalization=generalization)
            >= least - 1e-12
        )


def test_only_one_reading_of_the_noise_is_private():
    trees, epsilon = 21, 0.137
    assert prt.privacy_loss(trees, prt.laplace_scale(trees, epsilon)) == pytest.approx(epsilon)
    assert prt.privacy_loss(trees, trees / epsilon / math.sqrt(2)) == pytest.approx(math.sqrt(2) * epsilon)
    assert prt.privacy_loss(trees, epsilon / trees) == pytest.approx(trees**2 / epsilon)


@pytest.mark.parametrize("strength", [0.5, 9.0, 40.0, 700.0, 3e4])
def test_optimal_number_of_trees_minimises_the_failure(strength):
    n = round(strength * 9600 * 2)  # height 1, epsilon 1
    strength = n / 19200

    def failure(trees):
        return math.exp(-trees / 200) + 2 * trees * math.exp(-strength / trees)

    best = prt.optimal_number_of_trees(n, 1, 1.0)
    grid = np.arange(1, max(1000, int(strength)))
    assert failure(best) <= min(failure(int(trees)) for trees in grid[:20_000]) * (1 + 1e-12)
    assert best >= 1


def test_printed_and_corrected_optimum_differ_by_the_square_root():
    n = 10**12
    assert prt.optimal_number_of_trees(n * n, 2, 1.0, as_published=True) == prt.optimal_number_of_trees(
        n, 2, 1.0
    )


def test_theorem_5_7_contains_a_slip_of_arithmetic():
    # The supplement's own formula at delta = 1/10, K = 40, against the printed 1/8 + 9/2 eps - 5 eps**2.
    for error in (0.02, 0.05, 0.1):
        raised = error + 1 / 40
        derived = (2 * raised - 2 * raised**2) / 0.4
        printed = prt.optimal_forest_bound(error, 10**9, 1, 1.0, "threshold", as_published=True).error
        assert derived == pytest.approx(39 / 320 + 19 / 4 * error - 5 * error**2)
        assert printed == pytest.approx(1 / 8 + 4.5 * error - 5 * error**2)
        assert derived > printed


def test_printed_optimum_needs_astronomical_data():
    assert prt.optimal_forest_bound(0.02, 10**20, 1, 1.0, "threshold", as_published=True).probability == 0.0
    assert prt.optimal_forest_bound(0.02, 10**21, 1, 1.0, "threshold", as_published=True).probability > 0.99
    assert prt.optimal_forest_bound(0.02, 10**9, 1, 1.0, "threshold").probability == 0.0
    assert prt.optimal_forest_bound(0.02, 10**10, 1, 1.0, "threshold").probability > 0.99


def test_bounds_move_the_right_way_and_have_the_right_limits():
    errors = np.linspace(0, 0.5, 26)
    for voting in RULES:
        for generalization in (False, True):
            limits = [
                prt.private_error_bound(e, 0.1, 0.02, voting, 0.01, generalization=generalization)
                for e in errors
            ]
            assert limits == sorted(limits)
            tiny = prt.private_error_bound(0.0, 1e-9, 1e-9, voting, generalization=generalization)
            assert tiny == pytest.approx(0, abs=1e-8)
    training = prt.private_confidence(10**10, 10_000, 1, 1.0, 0.08, 1 / 25)
    testing = prt.private_confidence(10**10, 10_000, 1, 1.0, 0.08, 1 / 25, generalization=True)
    assert testing <= training
    by_n = [prt.private_confidence(10**e, 10_000, 1, 1.0, 0.08, 1 / 25) for e in (6, 9, 10, 11)]
    assert by_n[0] == 0.0
    assert max(by_n) > 0.9998
    # Too few trees fail by chance, too many by noise.
    assert prt.private_confidence(10**10, 100, 1, 1.0, 0.08, 1 / 25) == 0.0
    assert prt.private_confidence(10**10, 10**6, 1, 1.0, 0.08, 1 / 25) == 0.0


@pytest.mark.parametrize(
    "call",
    [
        lambda: prt.laplace_scale(0, 1.0),
        lambda: prt.privacy_loss(3, 0.0),
        lambda: prt.private_error_bound(0.1, 0.6, 0.1, "majority"),
        lambda: prt.private_error_bound(0.1, 0.1, 0.1, "median"),
        lambda: prt.private_confidence(10, 10, 1, 0.0, 0.1, 0.1),
    ],
)
def test_arguments_outside_the_hypotheses_are_refused(call):
    with pytest.raises(ValueError, match=r"must|need"):
        call()


def test_majority_has_no_printed_optimum():
    with pytest.raises(ValueError, match="majority"):
        prt.optimal_forest_bound(0.1, 1000, 1, 1.0, "majority", as_published=True)
    assert prt.optimal_forest_bound(0.02, 10**10, 1, 1.0, "majority").error < 0.2
