"""A real Chromium. Not every machine has one, so these are not default tests: make test-browser."""

import shutil

import pytest


@pytest.fixture(scope="session")
def browser():
    from playwright.sync_api import sync_playwright

    program = shutil.which("chromium") or shutil.which("google-chrome")
    assert program, "no Chromium is installed (Debian: apt-get install chromium)"
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield started
        started.close()


@pytest.fixture
def opened(browser):
    """Open a page; returns it and the list of its errors, which fills while it is used."""
    contexts = []

    def open_page(address, **options):
        contexts.append(browser.new_context(**options))
        page, errors = contexts[-1].new_page(), []
        page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on("requestfailed", lambda request: errors.append(f"cannot load {request.url}"))
        page.goto(address)
        return page, errors

    yield open_page
    for context in contexts:
        context.close()


@pytest.fixture
def serious():
    """What axe-core finds serious or critical on a page."""
    from axe_playwright_python.sync_playwright import Axe

    def find(page):
        rules = Axe().run(page).response["violations"]
        return [
            (rule["id"], [node["html"][:200] for node in rule["nodes"]])
            for rule in rules
            if rule["impact"] in ("serious", "critical")
        ]

    return find
