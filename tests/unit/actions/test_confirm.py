"""Tests of the text that a user types to confirm a deletion. Groups with similar ids need different texts."""

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
def test_user_confirms_the_deletion_of_one_group_by_typing_its_id(group: str, asked: str) -> None:
    """Characters that are hard to type are escaped. For a long id, the user types only its end and its length."""
    expected = challenge([group], irreversible=False)
    assert expected.asked == asked
    assert expected.met(asked)
    assert not expected.met("")


def test_user_confirms_deletion_of_several_groups_by_typing_their_number() -> None:
    expected = challenge(["a", "b", "c"], irreversible=False)
    assert (expected.asked, expected.what) == ("3", "type the number of groups")
    assert not expected.met("a")


@pytest.mark.parametrize(
    ("one", "other"),
    [("payment", "p\u0430yment"), ("caf\u00e9", "cafe\u0301"), ("g", "g "), ("g", "G"), ("a\nb", r"a\nb"),
     ("g", "g\u200b"), ("\\\u0430", r"\u0430")],
)  # fmt: skip
def test_two_groups_with_similar_ids_need_different_confirmation_texts(one: str, other: str) -> None:
    """A text that confirms the deletion of one group is never accepted for the group with the similar id."""
    assert not challenge([one], irreversible=False).accepted & challenge([other], irreversible=False).accepted


@given(names, names)
def test_confirmation_text_of_a_deletion_is_short_and_in_ascii(one: str, other: str) -> None:
    """The text for one group does not confirm the deletion of another group.

    There is one exception: for a long id, the text is only the end of the id and its length. Two long ids with the same
    end and the same length therefore have the same text.
    """
    expected = challenge([one], irreversible=False)
    assert expected.asked.isascii()
    assert expected.asked.isprintable()
    assert expected.asked == expected.asked.strip()
    assert len(expected.asked) <= LONGEST
    if one != other and not expected.what.startswith("type the last"):
        assert not expected.met(challenge([other], irreversible=False).asked)


@pytest.mark.parametrize("irreversible", [False, True])
def test_user_must_type_a_second_word_to_confirm_an_irreversible_deletion(irreversible: bool) -> None:
    expected = challenge(["idle"], irreversible=irreversible)
    assert expected.second_word == ("irreversible" if irreversible else None)
    assert expected.met("idle")
    assert expected.second_word_met("irreversible")
    assert [expected.second_word_met(typed) for typed in ("", "idle", "Irreversible")] == [not irreversible] * 3
