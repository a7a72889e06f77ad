"""The model card: true, harmless whatever the names are, complete, and small."""

import base64
import hashlib
import re
from html.parser import HTMLParser

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

import dpforest
from dpforest.privacy import NeighboringRelation, PrivacyGuarantee
from dpforest.report import best_guess, card, collect, registry_record
from dpforest.report.shapes import shapes_of
from dpforest.schema import Boolean, Classes, Date, Nominal, Numeric, Range, Schema
from tests.report.test_registry import ABOUT

HOSTILE = ["</script><script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "right\u202eto left"]
SCHEMA = Schema({"age": Numeric(0, 100), HOSTILE[1]: Nominal(HOSTILE)}, Classes([HOSTILE[0], HOSTILE[2]]))


def rows(n, seed=0):
    rng = np.random.default_rng(seed)
    age, ward = rng.uniform(0, 100, n), rng.integers(0, 3, n)
    return [[a, HOSTILE[w]] for a, w in zip(age, ward, strict=True)], np.array([HOSTILE[0], HOSTILE[2]])[
        (age > 50).astype(int)
    ]


@pytest.fixture(scope="module", params=[0.0, 1e-6], ids=["pure", "boosted"])
def model(request):
    return dpforest.PrivateForestClassifier(epsilon=2.0, delta=request.param, schema=SCHEMA).fit(*rows(3000))


class Page(HTMLParser):
    """Tags that are open, all attributes, all text."""

    EMPTY = frozenset({"meta", "input"})

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.attributes, self.text = [], [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [(tag, *one) for one in attrs]
        if tag not in self.EMPTY:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


def test_hostile_names_are_text(model):
    text = card(collect(model), title=HOSTILE[0])
    page = Page(text)
    assert not page.open
    assert page.tags.count("script") == 1
    assert "img" not in page.tags
    assert not [one for one in page.attributes if one[1].startswith("on")]
    assert "\u202e" not in text
    assert HOSTILE[1] in "".join(page.text)  # and yet it is there to read


def test_the_page_loads_nothing_and_runs_only_its_own_script(model):
    text = card(collect(model))
    page = Page(text)
    assert not [one for one in page.attributes if one[1] in ("src", "href", "style")]
    policy = next(one[2] for one in page.attributes if one[1] == "content" and "default-src" in one[2])
    for tag in ("style", "script"):
        part = re.search(f"<{tag}>(.*?)</{tag}>", text, re.DOTALL)[1]
        digest = base64.b64encode(hashlib.sha256(part.encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in policy


def test_every_query_and_column_is_told(model):
    text = "".join(Page(card(collect(model))).text)
    assert str(model.guarantee_) in text
    for event in model.ledger_:
        assert event.purpose in text
    assert "age" in text
    assert f"({len(model.ledger_)})" in text


def test_whom_nothing_is_promised_to_is_told(model):
    """The promise is to the private rows alone."""
    said = "nothing is promised to these"
    assert said not in card(collect(model))
    known = dpforest.PrivateForestClassifier(epsilon=2.0, delta=model.delta, schema=SCHEMA)
    known.fit(*rows(3000), X_public=rows(100, seed=1)[0])
    assert said in card(collect(known))


def test_a_void_model_says_so():
    with pytest.warns(dpforest.privacy.PrivacyLeakWarning):
        void = dpforest.PrivateForestClassifier(schema=SCHEMA, random_state=0).fit(*rows(300))
    text = card(collect(void))
    assert "Nothing is promised" in text
    with pytest.raises(ValueError, match="promises nothing"):
        registry_record(collect(void), **ABOUT)


def test_public_rows_are_scored_as_the_model_predicts_them(model):
    X, y = rows(500, seed=1)
    facts = collect(model, (X, y), by=HOSTILE[1])
    whole, *groups = [score for score in facts.scores if score.metric == "accuracy"]
    assert whole.value == pytest.approx(np.mean(model.predict(X) == y))
    area = next(score for score in facts.scores if score.metric == "AUC")
    assert area.value == pytest.approx(roc_auc_score(y == model.classes_[1], model.predict_proba(X)[:, 1]))
    assert (whole.baseline, area.baseline) == (max(np.mean(y == label) for label in model.classes_), 0.5)
    assert sum(group.rows for group in groups) == whole.rows == 500
    assert np.average([g.value for g in groups], weights=[g.rows for g in groups]) == pytest.approx(
        whole.value
    )


def test_numbers_have_cards_too():
    schema = Schema({"age": Numeric(0, 100)}, Range(10, 30))
    X = np.random.default_rng(0).uniform(0, 100, (2000, 1))
    y = 10 + X[:, 0] / 5
    model = dpforest.PrivateForestRegressor(epsilon=5.0, schema=schema).fit(X, y)
    facts = collect(model, (X, y))
    assert facts.scores[0].value == pytest.approx(np.mean((model.predict(X) - y) ** 2), rel=0.02)
    assert facts.scores[0].baseline == pytest.approx(y.var(), rel=0.02)
    lost = dpforest.private_score(model, X, y, epsilon=1.0, metric="mean_squared_error")
    (score,) = collect(model, paid={"people": lost}).scores
    assert score.error == pytest.approx(20**2 * lost.noise_sd / lost.rows)  # in the units of the loss
    assert "mean squared error" in card(facts)


def test_ten_classes_and_a_thousand_nodes_are_small():
    schema = Schema({f"x{at}": Numeric(0, 1) for at in range(5)}, Classes(range(10)))
    rng = np.random.default_rng(0)
    model = dpforest.RandomDecisionTreesClassifier(2, max_depth=9, schema=schema)
    page = card(collect(model.fit(rng.random((5000, 5)), rng.integers(0, 10, 5000))))
    assert page.count('class="rule"') > 1023
    assert len(page.encode()) < 3e6


def test_the_best_guess_is_that_of_randomized_response():
    """Whose answer, told truly with probability e^eps / (1 + e^eps), is the worst that epsilon allows."""
    for epsilon in (0.1, 1.0, 3.0):
        true = np.exp(epsilon) / (1 + np.exp(epsilon))
        assert best_guess(epsilon, 0.0) == pytest.approx(true)
    assert best_guess(1.0, 1.0) == 1.0


def test_every_relation_has_words():
    for relation in NeighboringRelation:
        from dpforest.report.facts import relation_in_words

        assert relation_in_words(PrivacyGuarantee(1.0, 0.0, relation))


def test_the_command_writes_a_card_and_scores_public_rows(tmp_path, model):
    from click.testing import CliRunner

    from dpforest.cli import main

    X, y = rows(200, seed=2)
    quoted = [
        [str(age), ward.replace('"', '""'), label.replace('"', '""')]
        for (age, ward), label in zip(X, y, strict=True)
    ]
    name = HOSTILE[1].replace('"', '""')
    lines = [f'age,"{name}",outcome', *(f'{age},"{ward}","{label}"' for age, ward, label in quoted)]
    (tmp_path / "public.csv").write_text("\n".join(lines) + "\n")
    model.save(tmp_path / "model.json")
    options = ["--public", f"{tmp_path}/public.csv", "--target", "outcome", "--by", HOSTILE[1]]
    done = CliRunner().invoke(
        main, ["report", f"{tmp_path}/model.json", "--out", f"{tmp_path}/card.html", *options]
    )
    assert done.exit_code == 0, done.output
    accuracy = np.mean(model.predict(X) == y)
    assert f"<td>{accuracy:.4g}</td>" in (tmp_path / "card.html").read_text()


def test_shapes_are_what_the_model_adds():
    """From end to end of the declared domain, in the units of `explain`, and in the right direction."""
    schema = Schema({"age": Numeric(0, 100), "ward": Nominal(["a", "b"])}, Classes([0, 1]))
    rng = np.random.default_rng(0)
    age, ward = rng.uniform(0, 100, 3000), rng.choice(["a", "b"], 3000)
    X = [[a, w] for a, w in zip(age, ward, strict=True)]
    model = dpforest.PrivateForestClassifier(epsilon=5.0, schema=schema).fit(X, (age > 50).astype(int))
    shape, of_wards = shapes_of(model, ["age", "ward"])
    assert shape.ordered
    assert not of_wards.ordered
    assert (shape.points[0], shape.points[-1]) == ("0", "100")
    assert of_wards.points == ("a", "b")
    (line,) = shape.lines
    assert line.about == "log odds of 1"
    assert line.values[0] < 0 < line.values[-1]


@pytest.mark.parametrize("n_classes", [2, 4])
def test_shapes_of_many_kinds_of_columns_are_drawn(n_classes):
    schema = Schema(
        {
            "day": Date("2020-01-01", "2021-01-01"),
            "smoker": Boolean(),
            "parity": Numeric(0, 3, integer=True, bins=2),
            "income": Numeric(1, 1e6, transform="log"),
            HOSTILE[1]: Nominal(HOSTILE),
        },
        Classes([f"{HOSTILE[0]}{k}" for k in range(n_classes)]),
    )
    rng = np.random.default_rng(1)
    X = [["2020-05-05", True, 1, 10.0 ** rng.uniform(0, 6), HOSTILE[0]] for _ in range(500)]
    y = [f"{HOSTILE[0]}{k}" for k in rng.integers(0, n_classes, 500)]
    page = Page(card(collect(dpforest.PrivateForestClassifier(epsilon=1.0, schema=schema).fit(X, y))))
    assert not page.open
    assert page.tags.count("figure") >= 5
    assert page.tags.count("script") == 1
    pictures = [value for tag, name, value in page.attributes if name == "aria-label"]
    assert any("2020-01-0" in words for words in pictures)
    assert any("False" in words and "True" in words for words in pictures)


def test_leaves_of_numbers_are_compared_with_their_noise_in_rows():
    schema = Schema({"age": Numeric(0, 100)}, Range(10, 30))
    X = np.random.default_rng(0).uniform(0, 100, (4000, 1))
    model = dpforest.RandomDecisionTreesRegressor(1, max_depth=2, epsilon=5.0, schema=schema)
    (leaves,) = collect(model.fit(X, 10 + X[:, 0] / 5)).leaves
    assert sum(leaves.counts) == pytest.approx(4000, abs=50)
    # two sums, each with noise of rate epsilon over the levels of the target
    assert leaves.noise_sd == pytest.approx(np.sqrt(2) * np.sqrt(2) / 5.0, rel=0.01)
    assert leaves.counts == tuple(sorted(leaves.counts, reverse=True))


def test_private_rows_are_scored_for_a_price_only(model):
    X, y = rows(2000, seed=3)
    paid = dpforest.private_score(model, X, y, epsilon=0.5)
    (score,) = collect(model, paid={"patients": paid}).scores
    assert score.value == float(paid)
    chance = np.sqrt(float(paid) * (1 - float(paid)) / paid.rows)
    assert score.error == pytest.approx(np.hypot(paid.noise_sd / paid.rows, chance))
    assert "epsilon = 0.5" in card(collect(model, paid={"patients": paid}))
    with pytest.raises(ValueError, match="what private_score returned"):
        collect(model, paid={"patients": 0.9})


def test_private_scores_have_a_baseline_of_released_counts(model):
    X, y = rows(2000, seed=3)
    asked = [
        dpforest.private_score(model, X, y, epsilon=50.0, metric=metric)
        for metric in ("accuracy", "confusion_matrix", "roc_auc")
    ]
    right, by_matrix, area = collect(model, paid={"patients": asked}).scores
    is_boosted = not model.leaf_noises_  # keeps no counts
    assert right.baseline is None if is_boosted else 0.4 < right.baseline < 0.7
    assert by_matrix.metric == "accuracy"
    assert by_matrix.value == pytest.approx(np.mean(model.predict(X) == y), abs=0.01)
    assert by_matrix.baseline == pytest.approx(max(np.mean(y == one) for one in model.classes_), abs=0.01)
    assert 0 < by_matrix.error < 0.02
    assert (area.metric, area.baseline) == ("AUC", 0.5)
    vague = dpforest.DiPriMeForestClassifier(epsilon=0.1, schema=SCHEMA, max_depth=8).fit(*rows(200))
    once = dpforest.private_score(vague, X, y, epsilon=1.0)
    assert collect(vague, paid={"patients": once}).scores[0].baseline is None  # of noise
    assert "not known" in card(collect(model, paid={"patients": asked}))


def test_small_groups_are_known_less_well(model):
    X, y = rows(500, seed=1)
    many = collect(model, (X, y)).scores[0]
    few = collect(model, (X[:5], model.predict(X[:5]))).scores[0]
    assert few.value == 1.0
    assert few.error > many.error > 0  # five of five may be luck


def test_the_checksum_is_that_of_the_file(tmp_path, model):
    from click.testing import CliRunner

    from dpforest.cli import main

    model.save(tmp_path / "model.json")
    done = CliRunner().invoke(main, ["report", f"{tmp_path}/model.json", "--out", f"{tmp_path}/card.html"])
    assert done.exit_code == 0
    digest = hashlib.sha256((tmp_path / "model.json").read_bytes()).hexdigest()
    assert digest in (tmp_path / "card.html").read_text()


def test_a_very_deep_tree_has_a_card_that_can_be_opened():
    schema = Schema({f"x{at}": Numeric(0, 1) for at in range(3)}, Classes([0, 1]))
    X = np.random.default_rng(0).random((500, 3))
    model = dpforest.RandomDecisionTreesClassifier(1, max_depth=15, epsilon=1.0, schema=schema)
    page = card(collect(model.fit(X, X[:, 0] > 0.5)))
    assert len(page) < 2e6
    assert "32768 leaves of tree 0" in page  # counted, if not drawn
