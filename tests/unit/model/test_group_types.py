"""Tests of the registry of group types: their states, protocols and kinds, and which of them have offsets.

The kind of a group, such as `connect` or `simple`, depends on its type and protocol.
"""

from __future__ import annotations

from itertools import product

import pytest

from kgtui.model import group_types as registry
from kgtui.model.group_types import GROUP_TYPES, KINDS, PROTOCOLS, STATES, TYPES, kind_of


def test_group_states_are_ordered_from_stable_to_dead() -> None:
    assert STATES == (
        "Stable",
        "PreparingRebalance",
        "CompletingRebalance",
        "Assigning",
        "Reconciling",
        "NotReady",
        "Empty",
        "Dead",
    )


def test_registry_of_group_types_contains_every_type_protocol_and_kind() -> None:
    assert TYPES == ("classic", "consumer", "share", "streams")
    assert PROTOCOLS == ("consumer", "connect", "sr", "share", "streams")
    assert KINDS == ("consumer", "connect", "sr", "simple", "share", "streams", "other")


def test_group_of_unknown_type_is_first_described_as_a_consumer_group() -> None:
    assert [entry.name for entry in registry.RANKED_TYPES] == ["consumer", "classic", "share", "streams"]


@pytest.mark.parametrize(
    ("type_", "protocol"), product((None, *TYPES, "next", ""), ("consumer", "connect", "sr", "", "x", None))
)
def test_every_combination_of_group_type_and_protocol_has_a_known_kind(type_: str | None, protocol: str | None) -> None:
    assert kind_of(type_, protocol) in KINDS


def test_groups_of_every_type_can_be_deleted_only_in_state_empty() -> None:
    assert {entry.deletable_states for entry in GROUP_TYPES.values()} == {frozenset({"Empty"})}


def test_offset_expiry_depends_on_the_type_of_the_group() -> None:
    expiries = {name: entry.offset_expiry.name for name, entry in GROUP_TYPES.items()}
    assert expiries == {
        "classic": "AFTER_EMPTY", "consumer": "AFTER_COMMIT", "share": "NEVER", "streams": "AFTER_COMMIT"
    }  # fmt: skip


def test_registry_of_group_types_says_which_types_and_protocols_have_offsets() -> None:
    assert {"share"} == registry.SHARE_OFFSET_TYPES
    assert {"consumer", "share", "streams"} == registry.TYPES_WITH_OFFSETS
    assert {"consumer", ""} == registry.PROTOCOLS_WITH_OFFSETS
