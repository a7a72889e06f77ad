"""Open a model card in a real browser: errors, keyboard, search, narrow windows, accessibility, print.

    pip install playwright axe-playwright-python      # and a Chromium, such as Debian's package
    python -m tools.browse card.html

Exits with 1 if anything is wrong; pictures and the PDF are left beside the card, to be looked at.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import time
from pathlib import Path
from typing import Any

SERIOUS = ("serious", "critical")


def opened(browser: Any, card: Path, **options: Any) -> tuple[Any, list[str]]:
    """Open the card; the list fills with errors of the page."""
    page, errors = browser.new_context(**options).new_page(), []
    page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(card.as_uri())
    return page, errors


def faults(browser: Any, card: Path) -> list[str]:
    """Return what is wrong, and print what was measured."""
    from axe_playwright_python.sync_playwright import Axe

    found = []
    for scheme in ("light", "dark"):
        began = time.perf_counter()
        # the accessibility checker is a script of its own, which the page would not let in
        page, errors = opened(browser, card, color_scheme=scheme, bypass_csp=True)
        print(f"{scheme}: opened in {time.perf_counter() - began:.2f} s")
        found += errors
        rules = Axe().run(page).response["violations"]
        print(f"{scheme}: axe-core finds {[(rule['id'], rule['impact']) for rule in rules] or 'nothing'}")
        found += [rule["id"] for rule in rules if rule["impact"] in SERIOUS]
    page, errors = opened(browser, card)
    rule = page.locator("section:has(#search) details details summary").first
    rule.focus()
    page.keyboard.press("Enter")
    if rule.locator("xpath=..").get_attribute("open") is None:
        found.append("a rule does not open by the keyboard")
    page.fill("#search", rule.inner_text().split()[0])
    print(f"search: {page.inner_text('#found')}")
    if not page.locator(".hit").first.is_visible():
        found.append("the search shows nothing")
    page.screenshot(path=card.with_suffix(".png"), full_page=True)
    page.pdf(path=card.with_suffix(".pdf"))
    narrow, more = opened(browser, card, viewport={"width": 380, "height": 800}, color_scheme="dark")
    if narrow.evaluate("document.documentElement.scrollWidth > innerWidth"):
        found.append("a narrow window scrolls sideways")
    narrow.screenshot(path=card.with_suffix(".narrow.png"))
    return found + errors + more


def main() -> None:
    from playwright.sync_api import sync_playwright

    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("card", type=Path)
    card = parser.parse_args().card.resolve()
    with sync_playwright() as playwright:
        chromium = shutil.which("chromium") or shutil.which("google-chrome")
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        wrong = faults(browser, card)
    print("\n".join(wrong) or "nothing is wrong")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
