"""Tests of the member index: it returns the ids from which it was made."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kgtui.model import member_index
from kgtui.model.members import Member

_ids = st.text(st.characters(exclude_characters="\x1e\x1f", codec="utf-8"), min_size=1, max_size=8)


@given(st.lists(st.tuples(_ids, _ids, _ids), max_size=5))
def test_index_returns_the_original_ids(rows: list[tuple[str, str, str]]) -> None:
    text = member_index.member_index_of([Member(member, client, host) for client, host, member in rows])
    assert member_index.clients(text) == tuple(sorted({client for client, _, _ in rows}))
    assert member_index.hosts(text) == tuple(sorted({host for _, host, _ in rows}))
    assert member_index.member_ids(text) == tuple(member for _, _, member in rows)


def test_separator_in_an_id_does_not_change_other_ids() -> None:
    text = member_index.member_index_of([Member("a\x1fb", "c\x1ed", "h"), Member("m", "z", "h")])
    assert member_index.member_ids(text) == ("a?b", "m")
    assert member_index.clients(text) == ("c?d", "z")
    assert member_index.hosts(text) == ("h",)


def test_instance_ids_of_static_members_are_in_the_index() -> None:
    text = member_index.member_index_of([Member("m-1", "c", "h", instance_id="static-1"), Member("m-2", "c", "h")])
    assert member_index.member_ids(text) == ("m-1", "m-2", "static-1")
