"""Fletcher and Islam (2017) and the addendum of 2021: Tables 2, 4 and 6 as printed, and what is wrong."""

import itertools
import math

import numpy as np
import pytest

from dpforest.papers.theory import smooth_sensitivity as ss

TABLE_2 = {  # gap: sensitivities at epsilon 0.01, 0.1, 1.0
    0: ("1.00000", "1.00000", "1.00000"),
    1: ("0.99004", "0.90483", "0.36788"),
    5: ("0.95122", "0.60653", "0.00674"),
    10: ("0.90483", "0.36788", "0.00005"),
    50: ("0.60653", "0.00674", "1.93e-22"),
    100: ("0.36788", "0.00005", "3.72e-44"),
    500: ("0.00674", "1.93e-22", "7.12e-218"),
}
TABLE_4 = {  # data set: continuous features, discrete features, depth
    "SynthA": (5, 0, 5),
    "SynthB": (10, 0, 8),
    "SynthC": (15, 0, 12),
    "SynthD": (15, 0, 12),
    "SynthE": (15, 0, 12),
    "SynthF": (10, 0, 8),
    "SynthG": (20, 0, 15),
    "WallSensor": (4, 0, 4),
    "PenWritten": (16, 0, 12),
    "GammaTele": (10, 0, 8),
    "Adult": (6, 8, 9),
    "Mushroom": (0, 22, 11),
    "Claves": (0, 16, 8),
    "Nursery": (0, 8, 4),
}
TABLE_6 = [  # counts A and B, original P(B), new P(B), in percent at epsilon 0.1
    (5, 10, "52.1", "62.2"),
    (105, 110, "52.1", "62.2"),
    (0, 1, "51.4", "52.5"),
    (0, 10, "53.4", "73.1"),
    (10, 50, "93.8", "98.2"),
    (10, 60, "99.9", "99.3"),
]


def printed_as(value, cell):
    """How a cell shows the value: 'rounded', 'cut' after the last digit, or None if it is another number."""
    digits, _, exponent = cell.partition("e")
    unit = 10.0 ** (int(exponent or 0) - len(digits.partition(".")[2]))
    shown = float(cell)
    if math.isclose(round(value / unit) * unit, shown, rel_tol=1e-9):
        return "rounded"
    return "cut" if math.isclose(math.floor(value / unit) * unit, shown, rel_tol=1e-9) else None


def test_table_2_is_reproduced_cell_by_cell():
    how = {
        (gap, epsilon): printed_as(ss.smooth_sensitivity(gap, epsilon, as_published=True), cell)
        for gap, row in TABLE_2.items()
        for epsilon, cell in zip((0.01, 0.1, 1.0), row, strict=True)
    }
    assert {key for key, kind in how.items() if kind == "cut"} == {(1, 0.01), (1, 0.1), (5, 0.01), (10, 0.01)}
    assert all(kind is not None for kind in how.values())


def brute_force_smooth_sensitivity(counts, epsilon):
    """Nissim et al.'s definition on class counts: the largest exp(-k epsilon) LS(y) over y at distance k."""

    def scores(y):
        return np.array([c == max(y) for c in y])

    def neighbours(y):
        for label, step in itertools.product(range(len(y)), (-1, 1)):
            if y[label] + step >= 0:
                yield tuple(c + step * (i == label) for i, c in enumerate(y))

    seen, frontier, best = {counts}, {counts}, 0.0
    for k in range(12):
        local = max(float((scores(y) != scores(z)).any()) for y in frontier for z in neighbours(y))
        best = max(best, math.exp(-k * epsilon) * local)
        frontier = {z for y in frontier for z in neighbours(y)} - seen
        seen |= frontier
    return best


@pytest.mark.parametrize("counts", [(9, 9), (10, 9), (11, 9), (14, 9), (12, 8, 8), (9, 4, 1)])
def test_corrected_smooth_sensitivity_is_the_definition(counts):
    second, first = sorted(counts)[-2:]
    expected = brute_force_smooth_sensitivity(counts, 0.4)
    assert ss.smooth_sensitivity(first - second, 0.4) == pytest.approx(expected)
    if first > second:  # Theorem 1 as printed understates it by one record
        assert ss.smooth_sensitivity(first - second, 0.4, as_published=True) == pytest.approx(
            expected * math.exp(-0.4)
        )


def test_smooth_mechanism_has_unbounded_privacy_loss():
    numbers = {(2, 1.0): 6.32, (3, 1.0): 17.25, (50, 0.1): 0.78, (60, 0.1): 2.12}
    for (gap, epsilon), loss in numbers.items():
        assert ss.smooth_mechanism_loss(gap, epsilon) == pytest.approx(loss, abs=0.01)
    losses = [ss.smooth_mechanism_loss(gap, 0.5, as_published=False) for gap in range(2, 30)]
    assert losses == sorted(losses)
    assert losses[-1] > 1e4  # even with the right sensitivity, for a claimed 0.5
    before, after = (
        ss.label_probabilities([0, 2], 1.0, "smooth"),
        ss.label_probabilities([0, 3], 1.0, "smooth"),
    )
    assert math.log(before[0] / after[0]) == pytest.approx(ss.smooth_mechanism_loss(2, 1.0))


def test_table_6_is_reproduced_cell_by_cell():
    how = {}
    for a, b, original, new in TABLE_6:
        how[a, b, "original"] = printed_as(100 * ss.label_probabilities([a, b], 0.1, "smooth")[1], original)
        how[a, b, "new"] = printed_as(100 * ss.label_probabilities([a, b], 0.1, "exponential")[1], new)
    assert {key for key, kind in how.items() if kind == "cut"} == {(10, 50, "original")}
    assert all(kind is not None for kind in how.values())


def test_addendum_example_disagrees_with_its_own_table():
    # Equation 18 divides by 0.36, the sensitivity of gap 10; the table's 52.1 % uses gap 5.
    odds = math.exp(0.1 / (2 * 0.36))
    assert odds == pytest.approx(1.149, abs=0.001)
    assert printed_as(100 * odds / (1 + odds), "52.1") is None


def test_one_sided_noisy_argmax_is_permute_and_flip_and_not_table_6():
    # 300,000 draws, five and a half standard errors: two-sided 4e-8.
    rng, draws = np.random.default_rng(0), 300_000
    noisy = np.array([[5], [10]]) + rng.exponential(1 / 0.1, (2, draws))
    share = (noisy[1] > noisy[0]).mean()
    standard_error = math.sqrt(0.25 / draws)
    assert abs(share - ss.label_probabilities([5, 10], 0.1, "permute_and_flip")[1]) < 5.5 * standard_error
    assert abs(share - ss.label_probabilities([5, 10], 0.1, "exponential")[1]) > 50 * standard_error


@pytest.mark.parametrize("mechanism", ["exponential", "permute_and_flip"])
def test_label_mechanisms_cost_epsilon_for_one_record_and_twice_for_a_replacement(mechanism):
    worst_add = worst_replace = 0.0
    for counts in itertools.product(range(4), repeat=3):
        before = np.log(ss.label_probabilities(counts, 1.0, mechanism))
        for joined, left in itertools.product(range(3), repeat=2):
            more = [c + (i == joined) for i, c in enumerate(counts)]
            worst_add = max(
                worst_add, np.abs(np.log(ss.label_probabilities(more, 1.0, mechanism)) - before).max()
            )
            if left != joined and counts[left] > 0:
                moved = [c - (i == left) for i, c in enumerate(more)]
                after = np.log(ss.label_probabilities(moved, 1.0, mechanism))
                worst_replace = max(worst_replace, np.abs(after - before).max())
    assert 0.9 < worst_add <= 1 + 1e-9
    assert 1.5 < worst_replace <= 2 + 1e-9


@pytest.mark.parametrize("name", TABLE_4)
def test_table_4_is_reproduced(name):
    continuous, discrete, depth = TABLE_4[name]
    assert ss.tree_depth(continuous, discrete, as_tabulated=True) == depth
    assert ss.tree_depth(continuous, discrete) == depth - (continuous > 0)


@pytest.mark.parametrize("features", [1, 2, 5, 10, 40])
def test_theorem_2_depth_is_the_first_with_fewer_than_half_untested(features):
    depth = ss.tree_depth(features)
    assert ss.expected_untested_features(features, depth) < features / 2
    assert ss.expected_untested_features(features, depth - 1) >= features / 2


@pytest.mark.parametrize(
    ("continuous", "discrete", "depth"), [(3, 0, 4), (2, 2, 3), (1, 3, 3), (0, 3, 2), (0, 2, 4)]
)
def test_expected_untested_features_by_enumeration(continuous, discrete, depth):
    def expected(remaining_discrete, tested, level):
        pool = [("c", i) for i in range(continuous)] + [("d", i) for i in remaining_discrete]
        if level == depth or not pool:
            return continuous + discrete - len(tested)
        outcomes = [
            expected(
                remaining_discrete - ({index} if kind == "d" else set()), tested | {(kind, index)}, level + 1
            )
            for kind, index in pool
        ]
        return sum(outcomes) / len(outcomes)

    assert ss.expected_untested_features(continuous, depth, discrete) == pytest.approx(
        expected(frozenset(range(discrete)), frozenset(), 0)
    )
    if discrete == 0:
        printed = continuous * ((continuous - 1) / continuous) ** depth
        assert ss.expected_untested_features(continuous, depth) == pytest.approx(printed)


def test_exact_mixture_agrees_with_depth_8_for_adult():
    assert (
        ss.expected_untested_features(6, 7, n_discrete=8)
        > 7
        > ss.expected_untested_features(6, 8, n_discrete=8)
    )


@pytest.mark.parametrize(
    "call",
    [
        lambda: ss.smooth_sensitivity(-1, 1.0),
        lambda: ss.label_probabilities([3], 1.0),
        lambda: ss.label_probabilities([3, 4], 1.0, "laplace"),
        lambda: ss.tree_depth(-1),
    ],
)
def test_arguments_outside_the_hypotheses_are_refused(call):
    with pytest.raises(ValueError, match="must"):
        call()
