"""Tests of the output of `kgtui show` for a group of each kind."""

from __future__ import annotations

import csv
import io
import json
from typing import TYPE_CHECKING, Any

from kgtui.commands.show import read_details
from kgtui.model.answer import Coverage, Fault
from kgtui.model.fields.partition_fields import PARTITION_OBJECT
from kgtui.model.group import GroupConfig
from kgtui.model.members import ConnectWorker, RegistryNode, StreamsAssignment, StreamsMember, Subtopology, Topology
from kgtui.model.offsets import CommittedOffset, PartitionBounds, ShareOffset
from kgtui.output import group_details
from tests.scripted import ScriptedAdmin, member

if TYPE_CHECKING:
    from kgtui.model.snapshot import Snapshot


def cluster() -> ScriptedAdmin:
    admin = ScriptedAdmin()
    admin.add(
        "pay", "consumer", members=(
            member("m-1", epoch=7, protocol="consumer", topics=("orders",), assignment=(("orders", (0, 1)),),
                   target=(("orders", (0,)),), rack="a", instance_id="i-1"),
            member("m-2", epoch=6, protocol="classic", topics=("orders",), assignment=(), target=(("orders", (1,)),)),
        ), assignor="uniform", group_epoch=7, assignment_epoch=6, operations=frozenset({"READ", "DESCRIBE"}),
        source="ConsumerGroupDescribe v1",
    )  # fmt: skip
    admin.commits["pay"] = (
        CommittedOffset("gone", 0, 5),
        CommittedOffset("orders", 0, 10, 3, "note"),
        CommittedOffset("orders", 2, None),
        CommittedOffset("secret", 0, None, error=29),
    )
    admin.bounds["orders", 0] = PartitionBounds(12, 15)
    admin.bounds["orders", 2] = PartitionBounds(0, 9)
    admin.bounds["secret", 0] = PartitionBounds(None, None, 29)
    admin.configs["pay"] = (
        GroupConfig("consumer.session.timeout.ms", "50000", "DYNAMIC_GROUP_CONFIG"),
        GroupConfig("hidden", "hunter2", "DEFAULT_CONFIG", sensitive=True),
    )
    admin.add("shared", "share", members=(member(assignment=(("t-shared", (0,)),)),), lag=4)
    admin.shares["shared"] += (ShareOffset("t-shared", 1, None),)
    worker = ConnectWorker("http://w:8083/", leader=True, connectors=("sink",), tasks=(("sink", (0, 1)),))
    admin.add("connect", "classic", "connect", members=(member("w-1", connect=worker),))
    admin.add(
        "registry", "classic", "sr", members=(member("r-1", registry=RegistryNode("http://r:8081", leader=True)),)
    )
    streams = StreamsMember("p-1", 1, assignment=StreamsAssignment((("0", (0, 1)),), (("1", (2,)),)))
    topology = Topology(1, (Subtopology("0", ("orders",)),))
    admin.add("app", "streams", members=(member("s-1", streams=streams),), topology=topology)
    admin.add("simple", "classic", "", "Empty")
    return admin


async def shown(*groups: str, admin: ScriptedAdmin | None = None) -> tuple[Snapshot, dict[str, Any]]:
    snapshot, faults = await read_details(admin or cluster(), groups, timeout=5)
    found = [group for group in groups if group in snapshot.groups]
    data = json.loads(group_details.as_json(snapshot, found, Coverage((3, 3), (len(found), len(groups))), faults))
    return snapshot, data


async def test_json_of_kgtui_show_has_epochs_permitted_operations_members_and_lag() -> None:
    _, data = await shown("pay")
    (found,) = data["groups"]
    assert found["assignor"] == "uniform"
    assert (found["group_epoch"], found["assignment_epoch"]) == (7, 6)
    assert found["authorized_operations"] == ["DESCRIBE", "READ"]
    first = found["members"][0]
    assert first["assignment"] == {"orders": [0, 1]}
    assert first["target_assignment"] == {"orders": [0]}
    assert found["described_by"] == "ConsumerGroupDescribe v1"
    assert (found["lag"], found["lag_unknown"]) == (5, 2)


async def test_json_of_kgtui_show_has_the_reason_for_each_unknown_lag() -> None:
    _, data = await shown("pay")
    partitions = {(p["topic"], p["partition"]): p for p in data["groups"][0]["partitions"]}
    why = {key: (row["lag"], row["reason"]) for key, row in partitions.items()}
    assert why == {
        ("gone", 0): (None, "topic deleted"),
        ("orders", 0): (5, None),
        ("orders", 1): (None, "no commit"),
        ("orders", 2): (None, "no commit"),
        ("secret", 0): (None, "forbidden"),
    }
    assert partitions["orders", 0]["lost"] == 2
    assert partitions["orders", 1]["member_id"] == "m-1"


async def test_output_of_kgtui_show_never_contains_the_value_of_a_sensitive_config() -> None:
    snapshot, data = await shown("pay")
    assert "hunter2" not in json.dumps(data)
    assert "hunter2" not in group_details.as_text(snapshot, "pay", wide=True)


async def test_output_of_kgtui_show_for_a_share_group_has_start_offsets_and_lag() -> None:
    snapshot, data = await shown("shared")
    rows = data["groups"][0]["partitions"]
    assert [(row["start_offset"], row["committed"], row["lag"]) for row in rows] == [
        (1000, None, 4),
        (None, None, None),
    ]
    assert "START-OFFSET" in group_details.as_text(snapshot, "shared")


async def test_text_output_of_kgtui_show_describes_groups_of_five_kinds() -> None:
    snapshot, data = await shown("pay", "connect", "registry", "app", "simple")
    assert data["faults"] == []
    pay = group_details.as_text(snapshot, "pay")
    assert "assignment epoch  6" in pay
    assert "classic" in pay.split("EPOCH")[1]
    assert "consumer.session.timeout.ms  50000" in pay
    assert "http://w:8083/ (leader) sink;sink:0,1" in group_details.as_text(snapshot, "connect")
    assert "http://r:8081 (leader)" in group_details.as_text(snapshot, "registry")
    assert "active 0:0,1 standby 1:2" in group_details.as_text(snapshot, "app")
    assert "kind          simple" in group_details.as_text(snapshot, "simple")
    assert data["groups"][3]["topology"]["subtopologies"][0]["source_topics"] == ["orders"]


async def test_csv_of_kgtui_show_has_one_line_per_partition_of_each_group() -> None:
    snapshot, _ = await shown("pay", "shared")
    rows = list(csv.DictReader(io.StringIO(group_details.as_csv(snapshot, ["pay", "shared"]).decode())))
    assert len(rows) == 7
    assert tuple(rows[0]) == ("group", *(field.name for field in PARTITION_OBJECT))
    assert (rows[1]["topic"], rows[1]["metadata"], rows[1]["lag"], rows[2]["lag"]) == ("orders", "note", "5", "")


async def test_json_of_kgtui_show_reports_a_missing_group_as_a_fault() -> None:
    snapshot, data = await shown("pay", "nope")
    assert [row["group"] for row in data["groups"]] == ["pay"]
    assert [(row["group"], row["name"]) for row in data["faults"]] == [("nope", "GROUP_ID_NOT_FOUND")]
    assert "nope" not in snapshot.groups


async def test_text_output_of_kgtui_show_escapes_control_characters_in_member_ids() -> None:
    admin = ScriptedAdmin()
    admin.add("a\nb", members=(member("\x1b[2J", client_id="x\u202ey", topics=("t\n",), assignment=(("t\n", (0,)),)),))
    snapshot, data = await shown("a\nb", admin=admin)
    text = group_details.as_text(snapshot, "a\nb", wide=True)
    assert all(line.isprintable() for line in text.split("\n"))
    assert data["groups"][0]["members"][0]["member_id"] == "\x1b[2J"


async def test_json_of_kgtui_show_reports_a_group_that_the_user_may_not_describe() -> None:
    admin = cluster()
    admin.broken["pay"] = Fault("GROUP_AUTHORIZATION_FAILED", "no", 30, group="pay", advice="ask for DESCRIBE")
    snapshot, data = await shown("pay", "shared", admin=admin)
    assert [row["group"] for row in data["groups"]] == ["shared"]
    assert data["faults"][0]["code"] == 30
    assert "shared" in group_details.as_text(snapshot, "shared")
