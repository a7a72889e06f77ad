"""Texts of strangers on a page: escaped, and with every letter to be seen."""

from __future__ import annotations

import unicodedata
from html import escape


def shown(text: object) -> str:
    r"""Make a text safe and visible in HTML.

    Examples
    --------
    >>> shown("<b>") == "&lt;b&gt;", shown("a" + chr(0x202E) + "b")
    (True, 'a\\u202eb')
    """
    visible = "".join(
        f"\\u{ord(letter):04x}" if unicodedata.category(letter)[0] == "C" else letter for letter in str(text)
    )
    return escape(visible)
