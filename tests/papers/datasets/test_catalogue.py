"""What is listed is consistent, complete and loadable."""

import subprocess
import sys

import pytest

from dpforest.papers.datasets import generate, list_datasets, load
from dpforest.papers.datasets.catalogue import catalogue, domain
from dpforest.papers.datasets.synthetic import GENERATED
from dpforest.schema import Classes


def test_the_room_loads_no_data_frames():
    code = (
        "import sys, dpforest.papers.datasets; "
        "print([m for m in ('pandas', 'sklearn', 'pyarrow', 'numba') if m in sys.modules])"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"


@pytest.mark.parametrize("name", list(catalogue()))
def test_facts_of_a_dataset_agree_with_its_domain(name):
    entry = catalogue()[name]
    if not entry.domain:
        assert entry.info.n_features > 0
        return
    schema = domain(entry.domain)
    assert entry.info.n_features == schema.n_features
    if entry.class_counts:
        assert sum(entry.class_counts.values()) == entry.info.n_rows
        assert set(entry.class_counts) == {str(label) for label in schema.classes.labels}
    assert (entry.info.task == "classification") == isinstance(schema.target, Classes)


def test_every_dataset_is_here_or_says_how_to_get_it():
    table = list_datasets()
    assert table["name"].is_unique
    assert ((table["source"] != "") != (table["how_to_get"] != "")).all()
    assert table["licence"].ne("").all()
    assert table["fidelity"].ne("").all()


def test_every_paper_has_its_datasets_listed():
    papers = list_datasets()["papers"]
    for paper, at_least in {
        "Consul and Williamson 2020": 6,
        "Consul and Williamson 2021": 10,
        "Fletcher and Islam 2017": 14,
        "Bojarski et al. 2014": 8,
        "Huang et al. 2022": 21,
    }.items():
        assert papers.str.contains(paper).sum() >= at_least, paper


def test_lists_can_be_narrowed_to_a_task():
    assert set(list_datasets("regression")["task"]) == {"regression"}
    assert len(list_datasets()) == len(list_datasets("regression")) + len(list_datasets("classification"))


# Fletcher and Islam 2017, Table 1: informative and random features.
FLETCHER = {"A": (5, 0), "B": (10, 0), "C": (15, 0), "D": (10, 5), "E": (5, 10), "F": (5, 5), "G": (10, 10)}


def test_synthetic_datasets_have_the_published_shapes():
    for letter, (informative, random) in FLETCHER.items():
        clusters = GENERATED[f"Synth{letter}"]
        assert (clusters.n_informative, clusters.n_random) == (informative, random)
        assert (clusters.info.n_rows, clusters.info.n_features) == (30_000, informative + random)
    for d in (5, 10, 15):
        assert (GENERATED[f"Syn{d}d"].info.n_rows, GENERATED[f"Syn{d}d"].info.n_features) == (3000, d)


def test_drawn_rows_repeat_and_can_be_varied():
    first, again, other = (generate("SynthF", 200, random_state=seed) for seed in (0, 0, 1))
    assert first.X.equals(again.X)
    assert not first.X.equals(other.X)
    assert len(first.X) == first.info.n_rows == 200
    assert load("Syn5d").X.equals(generate("Syn5d").X)
    assert load("SynthF@200").X.equals(first.X)


@pytest.mark.parametrize("name", list(GENERATED))
def test_public_bounds_of_drawn_rows_hold_almost_all_of_them(name):
    X, y, schema = generate(name, 3000)
    for column, feature in schema.features.items():
        sizes = X[column].abs()
        assert (sizes > feature.high).mean() < 0.01
        assert sizes.max() > feature.high / 3  # not so wide that the grid is wasted
    assert 0.45 < y.mean() < 0.55
    assert y[:50].std() > 0  # classes are mixed
