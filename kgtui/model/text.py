"""Makes text safe to show and to store: escapes control and invisible characters, and removes secrets.

Group, topic, client and member ids can contain any character, even codes that control the terminal.
"""

from __future__ import annotations

import re
import unicodedata

MOST_MARKS = 3
"""Maximum number of consecutive combining marks (accents) that are not escaped.

A character with more marks is so high on the screen that it covers the line above.
"""

_SHORT = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}
_LETTERS = frozenset("nrtxuU\\")

# Characters that must be escaped, although Unicode classifies them as letters, marks or symbols. Terminals draw them as
# nothing or as a blank, or merge them with the preceding character.
_INVISIBLE = frozenset((0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x2800, 0x3164, 0xFFA0, 0x1D159)).union(
    range(0x180B, 0x1810), range(0xFE00, 0xFE10), range(0x1F3FB, 0x1F400), range(0xE0100, 0xE01F0)
)


def visible(text: str) -> str:
    r"""Return the text with control and invisible characters escaped: `\n`, `\x1b`, `\u202e`, `\U000e0101`.

    All spaces except the ordinary one are escaped, too. If a character has more than `MOST_MARKS` accents, the further
    accents are escaped. A backslash that looks like the start of an escape sequence is doubled.
    """
    if "\\" not in text and text.isascii() and text.isprintable():
        return text
    return "".join(_pieces(text))


def visible_sentence(sentence: str) -> str:
    r"""Escape a sentence that kgtui itself has written, as `visible` does, but do not double backslashes.

    The sentence can contain backslashes on purpose: in names that are already escaped, and in examples such as
    `\u0000`.
    """
    if sentence.isascii() and sentence.isprintable():
        return sentence
    return "".join(_pieces(sentence, doubled=False))


def _pieces(text: str, *, doubled: bool = True) -> list[str]:
    pieces: list[str] = []
    marks = MOST_MARKS
    for char, following in zip(text, [*text[1:], ""], strict=True):
        if char == "\\":
            acts = following in _LETTERS or (following != "" and _must_escape(following, 0))
            pieces.append("\\\\" if acts and doubled else char)
            marks = 0
        elif _must_escape(char, marks):
            pieces.append(_escape(char))
            marks = MOST_MARKS
        else:
            pieces.append(char)
            marks = marks + 1 if _is_mark(char) else 0
    return pieces


def _is_mark(char: str) -> bool:
    return unicodedata.category(char) in ("Mn", "Me", "Mc")


def _must_escape(char: str, marks: int) -> bool:
    if char.isascii():
        return not char.isprintable()
    if not char.isprintable() or ord(char) in _INVISIBLE:
        return True
    return marks >= MOST_MARKS and _is_mark(char)


def _escape(char: str) -> str:
    code = ord(char)
    if char in _SHORT:
        return _SHORT[char]
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


REMOVED = "[removed]"

# These regular expressions find secrets. They must not begin with an unlimited repetition, because the search in an id
# of 32,000 characters would then take quadratic time.
_URL_USER = re.compile(r"(\b[a-zA-Z][a-zA-Z0-9+.-]{0,20}://)[^/\s@]+@")
_KEYED = re.compile(
    r"""((?:password|passwd|secret|token|credential|authorization|jaas\.config|api[._-]?key|private[._-]?key)"""
    r"""[\w.-]*["']?\s*[=:]\s*)("[^"]*"|'[^']*'|[^\s,;&}]+)""",
    re.IGNORECASE,
)


def redact(text: str) -> str:
    """Return the text without credentials in URLs and without the values of secrets such as `password=…`."""
    return _KEYED.sub(rf"\1{REMOVED}", _URL_USER.sub(rf"\1{REMOVED}@", text))
