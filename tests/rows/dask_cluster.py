"""Lose a worker in the middle of a fit, then the scheduler; run by `test_cluster`."""

import os
import signal
import warnings

import dask
import dask.dataframe as frames
import pytest
from distributed import Client, LocalCluster
from sklearn.base import clone

import dpforest
from dpforest._rows import DaskRows
from dpforest._rows.scores import SplitNodes
from dpforest.privacy import BudgetAccountant
from tests.forests.conftest import CLASSIFY, patients_table
from tests.rows.test_stored import assert_same

N_PARTS = 6


def count_steps():
    """Count, on a worker, how often rows are sent to children."""
    take = SplitNodes.take

    def counted(step, rows):
        SplitNodes.taken += 1
        take(step, rows)

    SplitNodes.taken, SplitNodes.take = 0, counted


def steps_counted():
    return SplitNodes.taken


def main(local, client):
    X, label, _ = patients_table(400)
    table = frames.from_pandas(X.assign(outcome=label), npartitions=N_PARTS, sort=False)
    median = dpforest.DiPriMeForestClassifier(3, schema=CLASSIFY, max_depth=4, random_state=5)
    boosted = dpforest.PrivateForestClassifier(6, schema=CLASSIFY, max_depth=2, delta=1e-5, random_state=5)
    fold, passes, stop = DaskRows.fold, [], {}

    def watched(rows, spec):
        passes.append(spec)
        stop.pop(len(passes), lambda: None)()
        return fold(rows, spec)

    def kill():
        os.kill(next(iter(local.workers.values())).process.pid, signal.SIGKILL)

    def check(model):
        passes.clear()
        assert_same(clone(model).fit(X, label), clone(model).fit(table, "outcome"))

    DaskRows.fold = watched
    client.run(count_steps)
    check(boosted)
    programs = [spec.scores.steps for spec in passes if hasattr(spec, "scores")]
    anew = sum(isinstance(step, SplitNodes) for steps in programs for step in steps) * N_PARTS
    taken = sum(client.run(steps_counted).values())
    assert taken < anew / 3, (taken, anew)  # once, and again where dask moved a partition
    print("EVERY STEP ONCE", flush=True)

    stop[len(passes) // 2] = kill
    check(boosted)
    assert not stop
    print("SAME MODEL", flush=True)

    stop[3] = lambda: local.sync(local.scheduler.close)
    dask.config.set({"distributed.comm.timeouts.connect": "5s"})
    Client(local)  # from here on the default; the first one would look for its scheduler for half a minute
    accountant = BudgetAccountant(epsilon=9.0)
    model = median.set_params(random_state=None, accountant=accountant)
    passes.clear()
    with pytest.raises(RuntimeError, match="nothing is released"):
        model.fit(table, "outcome")
    assert len(list(accountant.history())) == 1
    assert not hasattr(model, "guarantee_")
    print("NOTHING RELEASED", flush=True)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    options = {"dashboard_address": None, "silence_logs": 50}
    with LocalCluster(n_workers=2, threads_per_worker=1, **options) as local:
        main(local, Client(local))
        os._exit(0)
