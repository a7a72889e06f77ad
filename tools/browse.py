"""Take pictures of a page in Chromium, to be looked at: wide, narrow, dark, and as it is printed.

    python -m tools.browse card.html

They are left beside the page. What can be checked without eyes is checked by `make test-browser`.
"""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path

VIEWS = {
    "wide": {"viewport": {"width": 1280, "height": 900}},
    "narrow": {"viewport": {"width": 380, "height": 800}},
    "dark": {"viewport": {"width": 1280, "height": 900}, "color_scheme": "dark"},
}


def main() -> None:
    from playwright.sync_api import sync_playwright

    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("page", type=Path)
    path = parser.parse_args().page.resolve()
    with sync_playwright() as playwright:
        chromium = shutil.which("chromium") or shutil.which("google-chrome")
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        for name, options in VIEWS.items():
            page = browser.new_context(**options).new_page()
            page.goto(path.as_uri())
            page.screenshot(path=path.with_suffix(f".{name}.png"), full_page=True)
        page.emulate_media(color_scheme="light")
        page.pdf(path=path.with_suffix(".pdf"))


if __name__ == "__main__":
    main()
