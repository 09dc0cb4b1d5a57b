"""The silver table `group_events`: decoded records about groups and members.

Each record of `__consumer_offsets` that is not an offset commit becomes one row. Such a row is also
called an event.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from pyspark.sql import Window
from pyspark.sql import functions as F

from kgtui.lake.schemas import GROUP_EVENTS
from kgtui.pipeline.spark_schema import conform
from kgtui.protocol.records import CoordinatorRecord, RecordType, as_json, classic_members, format_uuid

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from uuid import UUID

    from pyspark.sql import DataFrame

_ABOUT = {
    "METADATA": "group",
    "MEMBER_METADATA": "member",
    "TARGET_ASSIGNMENT_METADATA": "target",
    "TARGET_ASSIGNMENT_MEMBER": "target_member",
    "CURRENT_MEMBER_ASSIGNMENT": "current",
}
"""Part of a record type's name after `_GROUP_` → value of the column `about`.

The column says what the record describes. Example: CONSUMER_GROUP_MEMBER_METADATA describes a
`member`. For record types that are not listed here, the value is `other`.
"""

_MEMBER_STATES = {0: "STABLE", 1: "UNREVOKED", 2: "UNRELEASED"}
"""Number of a member state → name of this state in Kafka. Share groups use only STABLE."""


def event_row(record: CoordinatorRecord) -> dict[str, Any]:
    """Convert a decoded record to a row of the table `group_events`: a dict, column → value.

    The dict has only columns that can be computed from this record alone. Columns with a null value
    can be missing. Times are in milliseconds since the epoch.
    """
    group_type, about = type_and_about(record.type)
    row = {
        "group": record.group,
        "type": group_type,
        "record": record.type.name.title().replace("_", ""),
        "about": about,
        "tombstone": record.value is None,
        "member_id": record.member,
    }
    if record.value is None:
        return row
    row["detail"] = json.dumps(as_json(record)["value"], separators=(",", ":"))
    columns = _classic(record, record.value) if group_type == "classic" else _with_epochs(record, record.value, about)
    return row | columns


def type_and_about(record_type: RecordType) -> tuple[str, str]:
    """Return for a record type a pair: group type, and what the record describes.

    Example: `("consumer", "member")` for CONSUMER_GROUP_MEMBER_METADATA.
    """
    if record_type is RecordType.GROUP_METADATA:
        return "classic", "group"
    group_type, _, rest = record_type.name.partition("_GROUP_")
    return group_type.lower(), _ABOUT.get(rest, "other")


def _classic(record: CoordinatorRecord, value: Mapping[str, Any]) -> dict[str, Any]:
    members = classic_members(record)
    ids = [member.member_id for member in members]
    since = value["currentStateTimestamp"]
    return {
        "epoch": value["generation"],
        "state": "Stable" if members else "Empty",
        "state_time": None if since < 0 else since,
        "protocol_type": value["protocolType"],
        "protocol": value["protocol"],
        "leader": value["leader"],
        "members": len(members),
        "member_ids": json.dumps(sorted(ids)),
        "assignment": _classic_assignment(value["protocolType"], members),
    }


def _classic_assignment(protocol_type: str, members: Sequence[Any]) -> str | None:
    """Return the assignments of all members of a classic group as JSON.

    The result is None if an assignment does not have the format of Kafka's Java consumer.
    """
    assignments = {member.member_id: member.assignment for member in members}
    if protocol_type != "consumer" or any(type(assignment) is not tuple for assignment in assignments.values()):
        return None
    return json.dumps(
        {
            member: sorted(f"{topic}-{partition}" for topic, partitions in assignment for partition in partitions)
            for member, assignment in assignments.items()
        }
    )


def _with_epochs(record: CoordinatorRecord, value: Mapping[str, Any], about: str) -> dict[str, Any]:
    if about == "group":
        return {"epoch": value["Epoch"]}
    if about == "member":
        return {
            "client_id": value["ClientId"],
            "host": value["ClientHost"],
            "instance_id": value.get("InstanceId"),
            "protocol": value.get("ServerAssignor"),
        }
    if about == "target":
        at = value["AssignmentTimestamp"]
        return {"epoch": value["AssignmentEpoch"], "state_time": at if at > 0 else None}
    if about == "target_member":
        tasks = value["TopicPartitions"] if "TopicPartitions" in value else value["ActiveTasks"]
        return {"assignment": json.dumps({record.member: _partition_names(tasks)})}
    if about == "current":
        tasks = value["AssignedPartitions"] if "AssignedPartitions" in value else value["ActiveTasks"]
        return {
            "epoch": value["MemberEpoch"],
            "state": _MEMBER_STATES.get(value["State"], "UNKNOWN"),
            "assignment": json.dumps({record.member: _partition_names(tasks)}),
        }
    return {}


def _partition_names(rows: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return sorted names, such as `TOPIC_ID-0` for a partition.

    The name of a task of a streams group is, for example, `SUBTOPOLOGY-0`.
    """
    return sorted(f"{_topic_or_subtopology(row)}-{partition}" for row in rows for partition in row["Partitions"])


def _topic_or_subtopology(row: Mapping[str, Any]) -> str:
    topic: UUID | None = row.get("TopicId")
    return row["SubtopologyId"] if topic is None else format_uuid(topic)


def with_created(events: DataFrame) -> DataFrame:
    """Set the column `created`: whether a record is the first one after its group was created.

    `created` is true for the first record after a tombstone of the group, and for the oldest record
    of the group if the group epoch or generation in this record is 0 or 1. If the epoch in the
    oldest record is higher, `created` is null, because compaction may have removed earlier records.
    `created` is also null for records about members or assignments.

    Args:
        events: rows of the silver table `group_events`, one per record: either all records of some
            groups, or new records and the earlier records that `rebalances.needed_events` selects.
    """
    order = Window.partitionBy("record_partition", "group").orderBy("record_offset")
    before = F.lag("tombstone").over(order)
    created = F.when(before.isNotNull(), before & ~F.col("tombstone"))
    created = created.otherwise(F.when(F.col("tombstone"), F.lit(False)).when(F.col("epoch") <= 1, F.lit(True)))
    of_groups = events.where("about = 'group'").withColumn("created", created)
    others = events.where("about <> 'group'").withColumn("created", F.lit(None).cast("boolean"))
    return of_groups.unionByName(others).transform(conform, GROUP_EVENTS)
