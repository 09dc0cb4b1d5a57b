"""Text as a table can hold it: ids that are not UTF-8 keep their bytes as lone surrogates, which no table takes.

U+FDD0, which Unicode sets aside for uses like this, begins an escape of four hexadecimal digits. Everything else stays
as it is, so that other readers of a lake see the ids that they know.
"""

from __future__ import annotations

import re

_MARK = "\ufdd0"
_STRANGE = re.compile(f"[\ud800-\udfff{_MARK}]")
_ESCAPED = re.compile(f"{_MARK}([0-9a-f]{{4}})")


def stored(text: str) -> str:
    """The text without lone surrogates; different texts stay different."""
    return text if text.isascii() else _STRANGE.sub(lambda found: f"{_MARK}{ord(found[0]):04x}", text)


def restored(text: str) -> str:
    """The text that was stored."""
    if _MARK not in text:
        return text
    return _ESCAPED.sub(lambda found: chr(int(found[1], 16)), text)
