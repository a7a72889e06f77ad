"""One registry of estimators, open to other packages: written as CONTRIBUTING says, used like our own."""

import json
import subprocess
import sys
import textwrap

import dpforest
from dpforest.forests.registry import ESTIMATORS

STRANGER = '''
from fractions import Fraction

from dpforest._trees import grow_random
from dpforest.forests.base import PrivateForestClassifierBase
from dpforest.forests.foresight import count_leaves, shapes_of
from dpforest.forests.parameters import parameters
from dpforest.privacy import Pool


@parameters
class StumpClassifier(PrivateForestClassifierBase):
    """One random cut, and noisy counts on both sides."""

    def _pools(self):
        return [Pool("leaves", Fraction(1), "noisy counts of both sides")]

    def _shapes(self, schema):
        return shapes_of(schema, 1, 1)

    def _asks(self, schema, shape):
        return [count_leaves(schema, copies=1)]

    def _grow(self, curator):
        return grow_random(curator, 1, 1, in_box=False)
'''

USE = """
import json, sys
import numpy as np
import dpforest
from click.testing import CliRunner
from dpforest.audit import audit_ledger
from dpforest.cli import main
from dpforest.forests.registry import ESTIMATORS

Stump = ESTIMATORS["StumpClassifier"]
X = np.random.default_rng(0).random((400, 2))
model = Stump(epsilon=1.0, bounds=(0, 1), classes=[0, 1]).fit(X, X[:, 0] > 0.5)
model.save("stump.json")
again = dpforest.load("stump.json")
assert type(again) is Stump and (again.predict(X) == model.predict(X)).all()
ledger = audit_ledger(Stump(epsilon=1.0, bounds=(0, 1), classes=[0, 1]), random_state=0)
schema = {"x": {"type": "numeric", "min": 0, "max": 1}, "y": {"type": "class", "categories": ["a", "b"]}}
open("schema.json", "w").write(json.dumps(schema))
plan = ["plan", "--schema", "schema.json", "--epsilon", "1", "--estimator", "StumpClassifier", "--json"]
told = CliRunner().invoke(main, plan)
print(json.dumps([model.guarantee_.status, ledger.claim, ledger.violation, told.exit_code]))
"""


def test_an_estimator_of_another_package_is_one_of_ours(tmp_path):
    (tmp_path / "stranger.py").write_text(STRANGER)
    facts = tmp_path / "stranger-1.0.dist-info"
    facts.mkdir()
    (facts / "METADATA").write_text("Metadata-Version: 2.1\nName: stranger\nVersion: 1.0\n")
    (facts / "entry_points.txt").write_text(
        "[dpforest.estimators]\nStumpClassifier = stranger:StumpClassifier\n"
        "PrivateForestClassifier = stranger:StumpClassifier\n"  # whoever takes our names is passed over
    )
    begin = f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n"
    done = subprocess.run(
        [sys.executable, "-c", begin + textwrap.dedent(USE)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[-1]) == ["proven", 1.0, False, 0]


def test_every_public_estimator_is_in_the_registry():
    public = {name for name in dpforest.__all__ if name.endswith(("Classifier", "Regressor"))}
    assert public <= set(ESTIMATORS)
    for name in ESTIMATORS:
        assert ESTIMATORS[name].__name__ == name
