"""The black-box auditor on things that are not ours: functions, scikit-learn, failures, interruptions."""

import math
from fractions import Fraction

import numpy as np
import pytest
from sklearn.dummy import DummyClassifier
from sklearn.tree import DecisionTreeClassifier

import dpforest
from dpforest.audit import NeighbourPair, audit, audit_every, audit_samples, every_estimator, presets
from dpforest.audit.columns import Column
from dpforest.audit.events import find_rule
from dpforest.audit.evidence import Guesses, log_winnings, loss_lower_bound, runs_that_suffice
from dpforest.audit.fitting import CannotAuditError, Subject
from dpforest.audit.observe import observe
from dpforest.cli.audit_run import GO_ON, QUICK_RUNS
from dpforest.mechanisms import RandomWords, Rate, permute_and_flip
from dpforest.privacy import BudgetAccountant, NeighboringRelation
from dpforest.schema import Classes, Nominal, Numeric, Range, Schema
from tests.forests.conftest import MODELS

PAIR = (([[0.0]], [0]), ([[0.0], [1.0]], [0, 1]))
TABLE = Schema({"age": Numeric(0, 8, bins=4), "ward": Nominal(["a", "b"])}, Classes(["died", "home"]))


def noisy_count(scale):
    def count(X, y, random_state):
        return len(X) + np.random.default_rng(random_state).laplace(scale=scale)

    return count


def sharp_label(X, y, random_state):
    """The most common label, by permute-and-flip at epsilon 3."""
    counts = [[sum(label == name for label in y) for name in TABLE.classes.labels]]
    return int(permute_and_flip(counts, Rate.floor(Fraction(3)), RandomWords.seeded(random_state))[0])


# --- the bound -------------------------------------------------------------------------------------------


def test_the_quick_form_finds_a_threefold_loss_that_half_of_the_outcomes_hide():
    """The other label tells nothing: a rule must leave it alone. Seeds are fixed."""
    options = {"schema": TABLE, "claim": 1.0, "runs": QUICK_RUNS, "max_runs": GO_ON * QUICK_RUNS}
    for seed in range(12):
        assert audit(sharp_label, random_state=seed, progress=False, **options).violation


def test_bound_is_valid_and_not_lazy():
    """False alarms stay below alpha over many audits of a mechanism that uses its whole budget.

    400 audits at alpha = 0.05 give 43 or more alarms by chance with probability below 1e-6 even if the bound
    were exact; it is conservative, so the true risk is far smaller. The seed is fixed.
    """
    rng = np.random.default_rng(0)
    losses = [
        audit_samples(rng.laplace(0, 1, 1000), rng.laplace(1, 1, 1000), 1.0, confidence=0.95).loss
        for _ in range(400)
    ]
    assert np.sum(np.array(losses) > 1) < 43
    assert np.median(losses) > 0.7


@pytest.mark.parametrize("delta", [0.0, 0.1])
@pytest.mark.parametrize("epsilon", [0.3, 1.0, 3.0])
def test_a_bet_against_a_kept_promise_wins_nothing_on_average(epsilon, delta):
    """The exact expectation of the winnings, over one run with either table, for the tightest mechanisms.

    P(E) = e^epsilon Q(E) + delta, Q(F) = e^epsilon P(F) + delta, the rest of the probability elsewhere.
    """
    for small in (0.0, 0.01, (1 - delta) / (1 + math.exp(epsilon))):
        large = math.exp(epsilon) * small + delta
        if large + small > 1 + 1e-12:
            continue
        for p, q in (((large, small), (large, small)), ((large, 0), (0, small)), ((0, small), (large, 0))):
            mean = 0.0
            chances = [(p[0], p[1], 1 - sum(p)), (q[0], q[1], 1 - sum(q))]  # right, wrong, no guess
            for one in range(3):
                for other in range(3):
                    said = [one, other]
                    won = log_winnings([Guesses(said.count(0), said.count(1), 2)], epsilon, delta)[0]
                    mean += chances[0][one] * chances[1][other] * math.exp(won)
            assert mean <= 1 + 1e-12


def test_bound_with_delta_is_smaller():
    many = [Guesses(right=300, wrong=50, runs=2000)]
    assert 0 < loss_lower_bound(many, 0.05, delta=0.05) < loss_lower_bound(many, 0.05)
    assert loss_lower_bound([Guesses(300, 0, 2000)], 0.05, delta=0.5) == 0
    assert loss_lower_bound([], 0.05) == 0


@pytest.mark.parametrize(("claim", "delta"), [(0.5, 0.0), (1.0, 0.0), (1.0, 0.05), (5.0, 0.0)])
def test_the_number_of_runs_that_suffice_does(claim, delta):
    enough = runs_that_suffice(claim, 1e-6, delta)
    assert loss_lower_bound([Guesses(enough, 0, enough)], 1e-6, delta) > claim
    assert loss_lower_bound([Guesses(enough - 2, 0, enough - 2)], 1e-6, delta) <= claim
    assert runs_that_suffice(math.inf, 1e-6) == 0


def test_delta_covers_a_rare_catastrophe():
    """A count that is released raw once in twenty times keeps delta = 0.06 but no epsilon."""

    def usually_noisy(X, y, random_state):
        rng = np.random.default_rng(random_state)
        return 1000.0 + len(X) if rng.random() < 0.05 else len(X) + rng.laplace()

    options = {"claim": 1.2, "runs": 12_000, "random_state": 0, "progress": False}
    assert audit(usually_noisy, PAIR, **options).violation
    assert not audit(usually_noisy, PAIR, delta=0.06, **options).violation


def test_conjunctions_are_found():
    """Neither number tells anything alone; together they tell everything."""
    rng = np.random.default_rng(0)
    first, second = rng.integers(0, 2, (2, 2000, 2)).astype(float)
    first[:, 1], second[:, 1] = first[:, 0], 1 - second[:, 0]
    rule, _ = find_rule(first, second, [Column("a"), Column("b")], 1000, 1e-6)
    assert rule.judge(first, second) == Guesses(right=4000, wrong=0, runs=4000)


# --- functions and other people's models -----------------------------------------------------------------


def test_function_with_too_little_noise_is_caught_and_with_enough_is_not():
    options = {"claim": 1.0, "runs": 6000, "random_state": 0, "progress": False}
    assert audit(noisy_count(0.5), PAIR, **options).violation
    assert not audit(noisy_count(1.0), PAIR, **options).violation


def test_model_without_any_privacy():
    result = audit(
        DecisionTreeClassifier(), PAIR, claim=1.0, runs=200, confidence=0.99, random_state=0, progress=False
    )
    assert result.violation


def test_constant_answers_are_not_enough():
    """scikit-learn's dummy answers the same whatever the rows, but keeps their class shares."""
    pair = (([[0.0], [1.0]], [0, 1]), ([[0.0], [1.0], [1.0]], [0, 1, 1]))
    model = DummyClassifier(strategy="uniform")
    result = audit(model, pair, claim=1.0, runs=400, random_state=0, progress=False)
    assert result.violation
    assert "class_prior_" in result.event


def test_own_observer_sees_what_the_default_does_not():
    class Keeps:
        def get_params(self, deep=True):
            return {}

        def fit(self, X, y):
            self.secret = lambda: len(X)
            return self

        def predict(self, X):
            return np.zeros(len(X))

    options = {"claim": 1.0, "runs": 400, "progress": False}
    assert audit(Keeps(), PAIR, **options).loss == 0
    assert audit(Keeps(), PAIR, observe=lambda model, probes: model.secret(), **options).violation


def test_a_fit_that_fails_on_one_table_only_is_a_leak():
    def picky(X, y, random_state):
        if len(X) > 1:
            raise ValueError("too many rows")
        return 0.0

    result = audit(picky, PAIR, claim=1.0, runs=400, random_state=0, progress=False)
    assert result.violation
    assert "fit fails" in result.event


def test_a_fit_that_always_fails_is_an_error():
    def broken(X, y):
        raise ValueError("cannot fit")

    with pytest.raises(CannotAuditError, match=r"fit fails \(ValueError\): 'cannot fit'. Give tables"):
        audit(broken, PAIR, claim=1.0, runs=100, progress=False)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"pair": PAIR}, "claim="),
        ({"claim": 1.0}, "pair="),
        ({"pair": PAIR, "claim": 1.0, "runs": 8}, "8 runs are too few for a pair of tables; 32 suffice"),
        ({"pair": PAIR, "claim": 1.0, "random_state": 0}, "takes no random_state"),
        ({"pair": "no such pair", "claim": 1.0, "schema": TABLE}, "no preset 'no such pair'"),
    ],
)
def test_what_is_missing_is_asked_for(options, message):
    with pytest.raises(ValueError, match=message):
        audit(lambda X, y: 0.0, progress=False, **options)


# --- pairs -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("relation", NeighboringRelation)
@pytest.mark.parametrize("target", [Classes(["died", "home", "moved"]), Range(0, 10)])
def test_presets_are_neighbours(relation, target):
    pairs = presets(Schema(TABLE.features, target), relation, rows_per_person=2)
    assert len(pairs) >= 6
    for pair in pairs:
        first, second = (
            sorted(map(repr, zip(table.X.tolist(), table.y.tolist(), strict=True)))
            for table in (pair.first, pair.second)
        )
        gone, new = list(first), []
        for row in second:
            gone.remove(row) if row in gone else new.append(row)
        if relation is NeighboringRelation.ADD_OR_REMOVE_ONE:
            assert (len(gone), len(new)) == (0, 2), pair.name
        else:
            assert len(gone) == len(new) <= 2, pair.name
        if relation is NeighboringRelation.LABEL_CHANGE:
            assert np.array_equal(pair.first.X.astype(str), pair.second.X.astype(str))


def test_every_estimator_is_on_the_list_and_names_a_claim():
    subjects = every_estimator()
    classes = {type(model) for model in subjects.values()}
    assert {type(model) for model in MODELS.values()} <= classes
    for name, subject in subjects.items():
        assert subject.privacy_plan().epsilon == 2, name
    options = ("variant", "label_mechanism", "disjoint", "voting", "feature_privacy",
               "persons_in_both", "delta", "neighboring", "max_rows_per_person")  # fmt: skip
    for option in options:
        values = {repr(getattr(s, option)) for s in subjects.values() if hasattr(s, option)}
        assert len(values) > 1, option


def test_every_estimator_fits_every_pair():
    """A pair on which fits fail would hide what they release."""
    for name, model in every_estimator().items():
        pairs = presets(
            model.schema,
            model.privacy_plan().relation,
            rows_per_person=model.max_rows_per_person,
            labelled_and_not=getattr(model, "persons_in_both", False),
        )
        for pair in pairs:
            for which in (0, 1):
                seen = Subject(model, observe, 0).run(pair, which, stream=0, number=0)
                assert len(seen) > 10, f"{name}, {pair.name}: {seen}"


# --- running ---------------------------------------------------------------------------------------------


def test_a_seed_repeats_the_audit_in_any_number_of_processes():
    options = {"claim": 1.0, "runs": 1000, "confidence": 0.95, "progress": False}
    serial = audit(noisy_count(0.5), PAIR, random_state=7, **options)
    assert audit(noisy_count(0.5), PAIR, random_state=7, n_jobs=2, **options) == serial
    assert audit(noisy_count(0.5), PAIR, random_state=8, **options) != serial


class Interrupted:
    """Ctrl-C after some runs."""

    def __init__(self, after):
        self.left = after

    def __call__(self, X, y):
        self.left -= 1
        if self.left < 0:
            raise KeyboardInterrupt
        return len(X) + 0.0


def test_ctrl_c_keeps_partial_results():
    result = audit(Interrupted(3000), PAIR, claim=1.0, runs=4000, progress=False)
    assert result.note == "interrupted after 3,000 of 4,000 runs on this pair"
    assert result.violation
    result = audit(Interrupted(100), PAIR, claim=1.0, runs=4000, progress=False)
    assert result.note == "interrupted before any outcome was tested"
    assert not result.violation


def test_ctrl_c_stops_a_report():
    class Stops(dpforest.RandomDecisionTreesClassifier):
        def fit(self, X, y):
            raise KeyboardInterrupt

    subjects = {"stops": Stops(schema=TABLE), "never reached": Stops(schema=TABLE)}
    report = audit_every(subjects, runs=400, progress=False)
    assert (len(report), report.interrupted) == (1, True)


def test_made_up_tables_cost_no_budget():
    accountant = BudgetAccountant(epsilon=1.0)
    model = dpforest.RandomDecisionTreesClassifier(1, schema=TABLE, max_depth=0, accountant=accountant)
    with BudgetAccountant(epsilon=1.0) as default:
        for n_jobs in (1, 2):
            audit(model, "duplicates", runs=40, random_state=0, progress=False, n_jobs=n_jobs)
            model.set_params(accountant=None)
            audit(model, "duplicates", runs=40, random_state=0, progress=False, n_jobs=n_jobs)
            model.set_params(accountant=accountant)
    assert accountant.total() == default.total() == (0.0, 0.0)


def test_infinite_claim_measures_without_judging():
    result = audit(noisy_count(0.1), PAIR, claim=math.inf, runs=1000, random_state=0, progress=False)
    assert result.loss > 2
    assert not result.violation


def test_given_pairs_carry_their_own_probes():
    pair = NeighbourPair.of(*PAIR, words="one row, and two")
    result = audit(noisy_count(0.5), pair, claim=1.0, runs=1000, random_state=0, progress=False)
    assert result.pair == "one row, and two"
