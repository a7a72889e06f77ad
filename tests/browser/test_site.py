"""The built site in a real browser: pages wide and narrow, the search, and nothing from the network."""

import http.server
import subprocess
import sys
import threading
from functools import partial
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = ["index.html", "tutorials/first-model.html", "reference/dpforest.html"]


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Build the site, as `make docs` does, and serve it."""
    folder = tmp_path_factory.mktemp("site")
    build = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)]
    done = subprocess.run(build, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize("width", [1280, 380])
@pytest.mark.parametrize("name", PAGES)
def test_pages_open_without_errors_or_strangers(site, opened, name, width):
    page, errors = opened(site + name, viewport={"width": width, "height": 900})
    loaded = page.evaluate("performance.getEntriesByType('resource').map(entry => entry.name)")
    assert loaded
    assert all(address.startswith(site) for address in loaded)
    assert not page.evaluate("document.documentElement.scrollWidth > innerWidth")
    assert page.locator("h1").first.is_visible()
    assert not errors


def test_the_search_finds_a_page(site, opened):
    page, errors = opened(site + "index.html", viewport={"width": 1280, "height": 900})
    page.locator(".md-search__input").click()
    page.locator(".md-search__input").press_sequentially("permute and flip")
    found = page.locator(".md-search-result__item")
    found.first.wait_for()
    assert found.count() > 1
    assert not errors


def test_the_reference_tells_what_a_forest_can_do(site, opened):
    page, _ = opened(site + "reference/dpforest.html")
    text = page.inner_text("article")
    for word in ("privacy_plan", "predict_proba", "report", "epsilon", "max_rows_per_person"):
        assert word in text
    assert "{parameters}" not in text
