"""What a person must type names one group and no other, and can be typed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgtui.actions.confirm import LONGEST, challenge

names = st.text(st.characters(codec="utf-8") | st.sampled_from(" \\\n\x1b\u202e\u200b\ufe0f"), max_size=80)


@pytest.mark.parametrize(
    ("group", "asked"),
    [
        ("payments.settle", "payments.settle"),
        ("[/red]", "[/red]"),
        ("a b", "a b"),
        (" a ", r"\x20a\x20"),
        ("   ", r"\x20\x20\x20"),
        ("two\nlines", r"two\nlines"),
        ("p\u0430yment", r"p\u0430yment"),
        ("cafe\u0301", r"cafe\u0301"),
        ("\u202eevil", r"\u202eevil"),
        ("\U0001f525", r"\U0001f525"),
        ("", "empty name"),
        ("x" * 31_990 + "-production", "x-production 32001"),
        ("\u4e2d" * 249, r"\u4e2d\u4e2d\u4e2d\u4e2d 249"),
    ],
    ids=lambda name: ascii(name)[:20],
)
def test_one_group(group: str, asked: str) -> None:
    """The name; escaped where it must be; the end and the length where it is long."""
    wanted = challenge([group])
    assert wanted.asked == asked
    assert wanted.met(asked)
    assert not wanted.met("")


def test_many_groups() -> None:
    """The number of them."""
    wanted = challenge(["a", "b", "c"])
    assert (wanted.asked, wanted.what) == ("3", "the number of groups")
    assert not wanted.met("a")


@pytest.mark.parametrize(
    ("one", "other"),
    [("payment", "p\u0430yment"), ("caf\u00e9", "cafe\u0301"), ("g", "g "), ("g", "G"), ("a\nb", r"a\nb"),
     ("g", "g\u200b"), ("\\\u0430", r"\u0430")],
)  # fmt: skip
def test_look_alikes_differ(one: str, other: str) -> None:
    """What is typed for the one never deletes the other."""
    assert not challenge([one]).accepted & challenge([other]).accepted


@given(names, names)
def test_what_is_asked_is_typable_and_names_one(one: str, other: str) -> None:
    """Printable ASCII of a line's length; two short names never share an answer."""
    wanted = challenge([one])
    assert wanted.asked.isascii()
    assert wanted.asked.isprintable()
    assert wanted.asked == wanted.asked.strip()
    assert len(wanted.asked) <= LONGEST
    if one != other and len(wanted.asked) and not wanted.what.startswith("its last"):
        assert not wanted.met(challenge([other]).asked)
