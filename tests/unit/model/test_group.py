"""Tests of types, states and kinds of groups, and of the number of partitions or tasks that a member owns.

The kind of a group, such as `connect` or `simple`, depends on its type and protocol.
"""

from __future__ import annotations

import pytest

from kgtui.model.group_types import canonical_state, canonical_type, kind_of
from kgtui.model.members import ConnectWorker, Member, StreamsAssignment, StreamsMember


@pytest.mark.parametrize(
    ("group_type", "protocol", "kind"),
    [
        ("classic", "consumer", "consumer"),
        ("consumer", "consumer", "consumer"),
        ("classic", "connect", "connect"),
        ("classic", "sr", "sr"),
        ("classic", "", "simple"),
        (None, "", "simple"),
        ("share", "share", "share"),
        ("streams", "streams", "streams"),
        ("classic", "rendezvous", "other"),
        ("swarm", "consumer", "other"),
    ],
)
def test_kind_of_a_group_depends_on_its_type_and_protocol(group_type: str | None, protocol: str, kind: str) -> None:
    assert kind_of(group_type, protocol) == kind


def test_letter_case_is_normalized_only_in_known_states_and_types() -> None:
    assert canonical_state(" preparingrebalance ") == "PreparingRebalance"
    assert canonical_state("Hibernating") == "Hibernating"
    assert canonical_type("Consumer") == "consumer"
    assert canonical_type("Swarm") == "Swarm"


def test_assigned_count_of_a_member_counts_partitions_connectors_or_tasks() -> None:
    assert Member("m", "c", "h").assigned_count is None
    assert Member("m", "c", "h", assignment=(("t", (0, 1)),)).assigned_count == 2
    worker = ConnectWorker("http://w", connectors=("sink",), tasks=(("sink", (0, 1)),))
    assert Member("m", "c", "h", connect=worker).assigned_count == 3
    tasks = StreamsAssignment(active=(("0", (0, 1)),), standby=(("0", (2,)),))
    assert Member("m", "c", "h", streams=StreamsMember("p", 1, assignment=tasks)).assigned_count == 3
