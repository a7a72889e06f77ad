"""The quick part of `make audit`: no estimator, under no option, leaks so much that a few fits show it.

A fair estimator is accused with probability at most 1e-6 per case. Flaws that this finds: raw values in a
released object, noise forgotten. Smaller ones need `make audit`; see docs/explanation/auditing.md for power.
"""

import pytest

from dpforest.audit import audit, every_estimator
from dpforest.audit.subjects import PROMISES
from dpforest.forests import RandomDecisionTreesClassifier

RUNS, PAIR = 300, "identical and one odd"  # one pair that shows much, instead of all of them
# Of baselines only their own options: what all estimators share is tried with the others. `make audit` does
# all.
SUBJECTS = {
    name: model
    for name, model in every_estimator().items()
    if not (type(model).__module__.startswith("dpforest.papers.baselines") and name.endswith(tuple(PROMISES)))
}


class KeepsRowCount(RandomDecisionTreesClassifier):
    def fit(self, X, y):
        super().fit(X, y)
        self.n_rows_ = len(X)
        return self


@pytest.mark.parametrize("name", SUBJECTS)
def test_a_few_fits_find_no_violation(name):
    result = audit(SUBJECTS[name], PAIR, runs=RUNS, confidence=1 - 1e-6, name=name, random_state=0)
    assert not result.violation, str(result)


def test_a_kept_row_count_is_found_with_so_few_fits():
    planted = KeepsRowCount(1, epsilon=2.0, max_depth=0, bounds=(0, 1), classes=[0, 1])
    assert audit(planted, PAIR, runs=RUNS, confidence=1 - 1e-6, random_state=0).violation
