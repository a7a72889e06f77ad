"""The model card: true, harmless whatever the names are, complete, and small."""

import base64
import hashlib
import json
import re
from html.parser import HTMLParser

import numpy as np
import pytest

import dpforest
from dpforest.privacy import NeighboringRelation, PrivacyGuarantee
from dpforest.report import best_guess, card, collect, registry_record
from dpforest.schema import Classes, Nominal, Numeric, Range, Schema

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


def test_a_void_model_says_so():
    with pytest.warns(dpforest.privacy.PrivacyLeakWarning):
        void = dpforest.PrivateForestClassifier(schema=SCHEMA, random_state=0).fit(*rows(300))
    text = card(collect(void))
    assert "Nothing is promised" in text
    with pytest.raises(ValueError, match="promises nothing"):
        registry_record(collect(void), name="n", curator="c", use="u", published="2026-01-01", author="a")


def test_public_rows_are_scored_as_the_model_predicts_them(model):
    X, y = rows(500, seed=1)
    facts = collect(model, (X, y), by=HOSTILE[1])
    whole, *groups = facts.scores
    assert whole.value == pytest.approx(np.mean(model.predict(X) == y))
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


def test_the_registry_gets_what_its_schema_asks_for(model):
    record = json.loads(
        registry_record(collect(model), name="n", curator="c", use="u", published="2026-11-16", author="a")
    )
    deployment = record["deployment"]
    assert deployment["privacy_loss"]["privacy_parameters"]["epsilon"] == 2.0
    assert deployment["dp_flavor"]["name"] == ("Pure DP" if model.delta == 0 else "Approximate DP")
    assert set(record) == {"approved", "registry_author", "deployment"}
    assert all(isinstance(value, str | dict) for value in deployment.values())


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
