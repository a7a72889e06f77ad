"""The model card in a real browser: it opens, folds, is searched and printed; strangers' names are text."""

import time

import numpy as np
import pytest

import dpforest
from dpforest.schema import Classes, Nominal, Numeric, Schema

HOSTILE = ["</script><script>window.hit = 1</script>", '"><img src=x onerror="window.hit = 1">', "a\u202eb"]


@pytest.fixture(scope="module")
def card(tmp_path_factory):
    """A card with hostile names in every place that has one."""
    schema = Schema({"age": Numeric(0, 100), HOSTILE[1]: Nominal(HOSTILE)}, Classes([HOSTILE[0], HOSTILE[2]]))
    rng = np.random.default_rng(0)
    age, ward = rng.uniform(0, 100, 3000), rng.choice(HOSTILE, 3000)
    X, y = [[a, w] for a, w in zip(age, ward, strict=True)], np.where(age > 50, HOSTILE[0], HOSTILE[2])
    model = dpforest.PrivateForestClassifier(epsilon=2.0, schema=schema).fit(X, y)
    path = tmp_path_factory.mktemp("card") / "card.html"
    model.report(path, title=HOSTILE[0], public=(X[:500], y[:500]), by=HOSTILE[1])
    return path


@pytest.fixture(scope="module")
def large_card(tmp_path_factory):
    """Ten classes, a tree of 1,023 nodes."""
    schema = Schema({f"x{at}": Numeric(0, 1) for at in range(6)}, Classes(range(10)))
    rng = np.random.default_rng(0)
    model = dpforest.RandomDecisionTreesClassifier(1, max_depth=9, schema=schema)
    path = tmp_path_factory.mktemp("card") / "large.html"
    model.fit(rng.random((5000, 6)), rng.integers(0, 10, 5000)).report(path)
    return path


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 380])
def test_it_opens_and_everybody_can_read_it(card, opened, serious, scheme, width):
    # the checker is a script of its own, which the page would not let in
    page, errors = opened(
        card.as_uri(), color_scheme=scheme, viewport={"width": width, "height": 800}, bypass_csp=True
    )
    assert not serious(page)
    assert not errors
    assert not page.evaluate("document.documentElement.scrollWidth > innerWidth")


def test_names_of_strangers_are_text(card, opened):
    page, errors = opened(card.as_uri())
    assert page.evaluate("window.hit === undefined")
    assert page.inner_text("h1") == HOSTILE[0]
    assert HOSTILE[1] in page.inner_text("body")
    assert "\u202e" not in page.inner_text("body")
    assert page.locator("script").count() == 1
    assert page.locator("img").count() == 0
    assert not errors


def test_rules_open_by_the_keyboard(card, opened):
    page, errors = opened(card.as_uri())
    for _ in range(40):  # whatever can be used is reached by the key that goes from one thing to the next
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.matches('details details > summary')"):
            break
    rule = page.locator("details details").first
    assert rule.get_attribute("open") is None
    page.keyboard.press("Enter")
    assert rule.get_attribute("open") is not None
    page.keyboard.press("Enter")
    assert rule.get_attribute("open") is None
    assert not errors


def test_the_search_finds_a_rule_that_was_folded(card, opened):
    page, errors = opened(card.as_uri())
    deepest = page.locator(".leaf .rule").last
    assert not deepest.is_visible()
    page.locator("#search").press_sequentially(deepest.text_content())
    assert deepest.is_visible()
    assert "hit" in deepest.get_attribute("class")
    assert "rule" in page.inner_text("#found")
    page.fill("#search", "no rule says this")
    assert page.inner_text("#found") == "0 rules"
    assert page.locator(".hit").count() == 0
    assert not errors


def test_a_large_card_opens_at_once(large_card, opened):
    assert large_card.stat().st_size < 3e6
    opened(large_card.as_uri())  # the first page waits for the browser
    seconds = []
    for _ in range(3):
        began = time.perf_counter()
        page, errors = opened(large_card.as_uri())
        page.locator("h1").wait_for()
        seconds.append(time.perf_counter() - began)
    assert page.locator(".rule").count() >= 1023
    assert not errors
    assert min(seconds) < 2, seconds


def test_it_prints(card, opened, tmp_path):
    page, errors = opened(card.as_uri())
    page.emulate_media(media="print")
    assert not page.locator(".search").is_visible()
    page.pdf(path=tmp_path / "card.pdf")
    assert (tmp_path / "card.pdf").read_bytes().startswith(b"%PDF")
    assert not errors
