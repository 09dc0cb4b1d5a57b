"""Tests of the shortest names that distinguish the members of a group."""

from __future__ import annotations

import pytest

from kgtui.model.member_names import member_labels, member_names, names_of_ids
from kgtui.model.members import Member


def member(member_id: str, client: str = "app", host: str = "/10.0.0.1", instance: str | None = None) -> Member:
    return Member(member_id, client, host, instance_id=instance)


@pytest.mark.parametrize(
    ("members", "names"),
    [
        ([member("a-1", "a"), member("b-1", "b")], ["a", "b"]),
        ([member("m-1", instance="i-1"), member("m-2", instance="i-2")], ["i-1", "i-2"]),
        ([member("m-1"), member("m-2", host="/10.0.0.2")], ["app@10.0.0.1", "app@10.0.0.2"]),
        ([member("app-12345-x"), member("app-98765-x")], ["app#1234", "app#9876"]),
        ([member("app-12345-x"), member("app-12346-x")], ["app#12345", "app#12346"]),
        ([member("1234567", ""), member("1234599", "")], ["123456", "123459"]),
        ([member("only-one", "")], ["only"]),
        ([member("m-1", "app", instance="x"), member("m-2", "x", host="/10.0.0.2")], ["x@10.0.0.1", "x@10.0.0.2"]),
        ([member("ab"), member("abc")], ["app#ab", "app#abc"]),
    ],
)
def test_member_names_are_short_and_distinguish_the_members_of_a_group(members: list[Member], names: list[str]) -> None:
    assert list(member_names(members).values()) == names
    assert len(set(names)) == len(names)


def test_label_of_a_member_contains_its_host_only_once() -> None:
    on_two_hosts = member_labels([member("m-1"), member("m-2", host="/10.0.0.2")])
    assert on_two_hosts == {"m-1": "app at /10.0.0.1", "m-2": "app at /10.0.0.2"}
    on_one_host = member_labels([member("app-12345"), member("app-98765")])
    assert on_one_host == {"app-12345": "app#1234 at /10.0.0.1", "app-98765": "app#9876 at /10.0.0.1"}


def test_names_of_former_members_are_shortened_member_ids() -> None:
    first, second = "enrich-2-33d63ea3-1111-4222-8333-abcdefabcdef", "enrich-2-33d9aaaa-1111-4222-8333-abcdefabcdef"
    assert names_of_ids([first]) == {first: "enrich-2"}
    assert names_of_ids([first, second]) == {first: "enrich-2#33d6", second: "enrich-2#33d9"}
    assert names_of_ids(["Ab1xyz", "m-9"], [member("m-9", "billing")]) == {"Ab1xyz": "Ab1x", "m-9": "billing"}
