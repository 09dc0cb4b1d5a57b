"""Tests of the member index of a group: one string with the client ids, hosts and member ids of all its members."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kgtui.model.members import Member
from kgtui.model.summary import NAMES, member_index_of, names_reader

_ids = st.text(st.characters(exclude_characters="\x1d\x1e\x1f", codec="utf-8"), min_size=1, max_size=8)


def names(text: str, key: str) -> tuple[str, ...]:
    return names_reader(key)(text)


def test_client_ids_hosts_and_member_ids_are_decoded_from_the_member_index() -> None:
    members = [Member(f"m-{n}", f"c-{n}", f"/h-{n}", instance_id=f"s-{n}", rack=f"r-{n}") for n in (2, 1)]
    text = member_index_of(members)
    assert {key: names(text, key) for key in NAMES} == {key: tuple(of(members)) for key, of in NAMES.items()}
    assert {names("", key) for key in NAMES} == {()}


@given(st.lists(st.tuples(_ids, _ids, _ids), max_size=12), st.booleans())
def test_random_ids_are_unchanged_after_encoding_and_decoding_the_member_index(
    rows: list[tuple[str, str, str]], prefixed: bool
) -> None:
    """If `prefixed` is true, the member ids begin with the client id, as they usually do."""
    rows = [(client, host, client + member if prefixed else member) for client, host, member in rows]
    text = member_index_of([Member(member, client, host) for client, host, member in rows])
    assert names(text, "client") == tuple(sorted({client for client, _, _ in rows}))
    assert names(text, "host") == tuple(sorted({host for _, host, _ in rows}))
    assert names(text, "member") == tuple(member for _, _, member in rows)


def test_member_index_contains_a_client_id_only_once_if_member_ids_begin_with_it() -> None:
    members = [Member(f"billing-consumer-{n}", "billing-consumer", "h") for n in range(5)]
    text = member_index_of(members)
    assert text.count("billing-consumer") == 1
    assert names(text, "member") == tuple(member.member_id for member in members)


def test_member_index_replaces_separator_characters_in_ids_with_question_marks() -> None:
    text = member_index_of([Member("a\x1fb", "c\x1ed", "h"), Member("m", "z", "h")])
    assert names(text, "member") == ("a?b", "m")
    assert names(text, "client") == ("c?d", "z")
    assert names(text, "host") == ("h",)


def test_member_index_contains_the_instance_ids_of_static_members() -> None:
    text = member_index_of([Member("m-1", "c", "h", instance_id="static-1"), Member("m-2", "c", "h")])
    assert names(text, "member") == ("m-1", "m-2", "static-1")
