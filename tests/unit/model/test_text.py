"""Tests of escaping control characters and invisible characters. Unescaped, different ids could look the same."""

from __future__ import annotations

import codecs
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgtui.model.query.lexer import Lexer
from kgtui.model.text import MOST_MARKS, visible, visible_sentence


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("payments.settle", "payments.settle"),
        ("[/red]", "[/red]"),
        ("münze 東京 🦄", "münze 東京 🦄"),
        ("a\x1b[31mb", r"a\x1b[31mb"),
        ("a\nb\r\tc", r"a\nb\r\tc"),
        ("\x00\x07\x7f\x9b", r"\x00\x07\x7f\x9b"),
        ("evil\u202egnp.exe", r"evil\u202egnp.exe"),
        ("zero\u200bwidth\ufeff", r"zero\u200bwidth\ufeff"),
        ("\u2066x\u2069\u061c", r"\u2066x\u2069\u061c"),
        ("no\xa0break\u3000wide", r"no\xa0break\u3000wide"),
        ("line\u2028sep\u2029", r"line\u2028sep\u2029"),
        ("lone\ud800", r"lone\ud800"),
        ("tag\U000e0041", r"tag\U000e0041"),
        ("heart\u2764\ufe0f", "heart\u2764" + r"\ufe0f"),
        ("hand\U0001f44b\U0001f3fb", "hand\U0001f44b" + r"\U0001f3fb"),
        ("hangul\u3164filler", r"hangul\u3164filler"),
        ("e\u0301", "e\u0301"),
        ("\u0301e", r"\u0301e"),
        ("z" + "\u0300" * 5, "z" + "\u0300" * MOST_MARKS + r"\u0300\u0300"),
        ("back\\slash", "back\\slash"),
        ("DOMAIN\\user", r"DOMAIN\\user"),
        ("\\x1b", r"\\x1b"),
        ("\\\x1b", r"\\\x1b"),
        ("end\\", "end\\"),
        ("\\\\", "\\\\\\"),
    ],
)
def test_unsafe_characters_in_a_text_are_escaped(text: str, shown: str) -> None:
    assert visible(text) == shown


hostile = st.text(
    alphabet=st.one_of(st.characters(), st.sampled_from("\\nrtxuU019abf\x1b\n\u202e\u0301\ud800\U000e0101")),
    max_size=25,
)


@given(hostile)
def test_escaped_text_contains_no_invisible_characters(text: str) -> None:
    shown = visible(text)
    assert shown.isprintable()
    shown.encode()
    assert not re.search("[\u200b-\u200f\u202a-\u202e\u2066-\u2069\ufeff\ufe00-\ufe0f]", shown)


@given(hostile)
def test_escaped_text_can_be_decoded_to_the_original_text(text: str) -> None:
    """An escaped text can be decoded in only one way, so that two different ids are never shown as the same text."""
    escapes = re.compile(r"\\(?:([nrt\\])|x([0-9a-f]{2})|u([0-9a-f]{4})|U([0-9a-f]{8}))")

    def back(match: re.Match[str]) -> str:
        short, *codes = match.groups()
        return (
            {"n": "\n", "r": "\r", "t": "\t", "\\": "\\"}[short] if short else chr(int(next(filter(None, codes)), 16))
        )

    assert escapes.sub(back, visible(text)) == text


@given(st.text(alphabet="ab\x1b\n\u202e\u200b\xa0\ud800", min_size=1, max_size=12))
def test_filter_parser_decodes_an_escaped_id_to_the_original_id(text: str) -> None:
    (term,) = Lexer(visible(text)).terms()
    assert term.values[0].text == text


def test_id_of_32_000_control_characters_can_be_escaped() -> None:
    assert len(visible("\x1b" * 32_000)) == 4 * 32_000
    assert codecs.decode(visible("\x1b\x9d"), "unicode_escape") == "\x1b\x9d"


def test_backslashes_in_messages_of_kgtui_are_not_doubled() -> None:
    assert (
        visible_sentence("write \\u and four digits: '\\u200b'\x1b\u200b")
        == "write \\u and four digits: '\\u200b'\\x1b\\u200b"
    )
