"""Schemas of the recorded tables, to which the recorder writes what it reads from the cluster in each poll.

A keyframe is a poll for which the recorder writes the complete state of the cluster. For every other poll, it writes
only the rows that changed. Each row contains the time of its poll:

- `day`: UTC day of the poll
- `poll`: time of the poll in milliseconds since the epoch
- `keyframe`: time of the latest keyframe at or before `poll`, in milliseconds since the epoch

To get the state at a poll, select the rows from its keyframe up to this poll. Of the selected rows, take the newest row
of each key. Leave this row out if its column `gone` is true, because the object (such as a member) no longer exists.

Ignore rows whose `poll` is not in table `polls`. They come from an interrupted write, because `polls` is written last.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kgtui.lake.schemas.definition import PARTITION, Column, Layer, Table, table
from kgtui.model.rfc3339 import utc_datetime

if TYPE_CHECKING:
    from datetime import date

LAYER: Layer = "recorded"
"""Name of the layer of the recorded tables, and of the layer's folder in a lake."""


_ALWAYS = (
    Column(PARTITION, "date", "UTC day of the poll", nullable=False),
    Column(
        "keyframe",
        "long",
        "time of the newest poll, at or before `poll`, that wrote the complete state of the cluster, in milliseconds "
        "since the epoch",
        nullable=False,
    ),
    Column("poll", "long", "time of the poll in milliseconds since the epoch", nullable=False),
)
_GONE = Column(
    "gone",
    "boolean",
    "true if the object that the row describes, such as a group or member, no longer exists",
    nullable=False,
)
_GROUP = Column("group", "string", "group id", nullable=False)


def _table(name: str, about: str, key: tuple[str, ...], *columns: Column) -> Table:
    return table(LAYER, name, about, key, *_ALWAYS, *columns)


POLLS = _table(
    "polls",
    "one poll of the cluster; the row is written last, after the rows of this poll in all other tables",
    ("poll",),
    Column("taken_at", "timestamp", "time at which the poll began", nullable=False),
    Column("run", "string", "id of the recorder run that made the poll", nullable=False),
    Column(
        "previous",
        "long",
        "time of the previous poll in milliseconds since the epoch; null if this poll follows a gap (see `gap`)",
    ),
    Column("gap", "string", "why nothing was recorded for some time before this poll; null if there is no gap"),
    Column("interval_ms", "int", "configured time between two polls in milliseconds", nullable=False),
    Column("took_ms", "int", "duration of the poll in milliseconds", nullable=False),
    Column("rows", "int", "number of rows of this poll in the other tables", nullable=False),
    Column("groups", "int", "number of groups that the brokers listed", nullable=False),
    Column("brokers", "int", "number of brokers", nullable=False),
    Column("brokers_answered", "int", "number of brokers that returned their list of groups", nullable=False),
    Column("cluster_id", "string", "cluster id; null if the cluster reports no id"),
    Column(
        "cluster",
        "string",
        "JSON object with brokers, controller, features and bootstrap servers (seeds); null if unchanged since the "
        "previous poll",
    ),
)

GROUPS = _table(
    "groups",
    "one group: its entry in the response to ListGroups, and its description",
    ("group",),
    _GROUP,
    _GONE,
    Column("type", "string", "group type as returned by ListGroups; null if the broker does not report types"),
    Column("protocol", "string", "protocol type as returned by ListGroups"),
    Column("state", "string", "group state as returned by ListGroups; null if the broker does not report states"),
    Column("coordinator", "int", "node id of the coordinator"),
    Column(
        "described_at",
        "long",
        "time at which the current description of the group was first read, in milliseconds since the epoch; null if "
        "the group was never described",
    ),
    Column("assignor", "string", "name of the assignor, or protocol name of a classic group"),
    Column("group_epoch", "int", "group epoch (KIP-848, KIP-932, KIP-1071); null for classic groups"),
    Column("assignment_epoch", "int", "epoch of the target assignment; null for classic groups"),
    Column("members", "int", "number of members; null if unknown, or if the broker withheld the members"),
    Column(
        "description",
        "string",
        "JSON object with the values of the description that have no column of their own; null if the group was never "
        "described",
    ),
    Column(
        "offsets_may_be_hidden",
        "boolean",
        "true if offsets may be missing, because the Kafka user of the recorder is not allowed to see every topic; "
        "null if unknown, and in rows that an older kgtui wrote",
    ),
)

MEMBERS = _table(
    "members",
    "one member of a group",
    ("group", "member_id"),
    _GROUP,
    Column("member_id", "string", "member id", nullable=False),
    _GONE,
    Column("client_id", "string", "client id of the member"),
    Column("host", "string", "address of the member as reported by the broker"),
    Column("instance_id", "string", "instance id of a static member (KIP-345); null for other members"),
    Column("rack", "string", "rack id of the member; null if unknown"),
    Column("epoch", "int", "member epoch; null in classic groups"),
    Column(
        "protocol",
        "string",
        "protocol of the member: classic, consumer, share or streams; null if the broker does not report it",
    ),
    Column("assigned", "int", "number of assigned partitions, tasks or connectors; null if unknown"),
    Column(
        "detail",
        "string",
        "JSON object with the subscription, assignment, target assignment, and other data that depend on the group "
        "type",
    ),
)

PARTITIONS = _table(
    "partitions",
    "one partition in which a group has a committed offset, a share-partition start offset or an owner",
    ("group", "topic", "partition"),
    _GROUP,
    Column("topic", "string", "topic of the partition", nullable=False),
    Column("partition", "int", "index of the partition in its topic", nullable=False),
    _GONE,
    Column(
        "kind",
        "string",
        "what the group has in the partition: commit (a committed offset), share (a share-partition start offset) or "
        "owned (a member owns the partition, but there is no offset)",
    ),
    Column("committed", "long", "committed offset; null if the group has no committed offset in the partition"),
    Column("spso", "long", "share-partition start offset (KIP-932); null until it is initialized"),
    Column("lag", "long", "lag that the broker reports for a share partition (KIP-1226); null if it reports no lag"),
    Column("leader_epoch", "int", "leader epoch of the committed offset or share-partition start offset"),
    Column("metadata", "string", "metadata of the committed offset"),
    Column("error", "int", "Kafka error code if the offset could not be read; otherwise 0"),
    Column("message", "string", "error message if the offset could not be read; null if the broker sent no message"),
    Column("log_start", "long", "log start offset; null if unknown"),
    Column("log_end", "long", "log end offset; null if unknown"),
    Column(
        "log_error",
        "int",
        "Kafka error code if the log start and log end offsets could not be read; 0 if they were read, null if there "
        "was no response",
    ),
    Column("owner", "string", "member id of the owner; null if unknown"),
)

FAULTS = _table(
    "faults",
    "one fault: data that a poll could not read, and the error",
    ("group", "scope", "broker", "name"),
    Column(
        "scope",
        "string",
        "what could not be read: cluster, broker (groups of a broker), describe (descriptions of groups), offsets "
        "(offsets of groups) or logs (log start and log end offsets)",
        nullable=False,
    ),
    Column("broker", "int", "node id of the broker; null if the fault does not concern a single broker"),
    Column("group", "string", "group id; null if the fault does not concern a single group"),
    Column("name", "string", "name of the error: a Kafka name, or a name of kgtui such as NO_ANSWER", nullable=False),
    _GONE,
    Column("code", "int", "Kafka error code; null for errors that kgtui defines"),
    Column("message", "string", "error message; null if the fault has ended (`gone` is true)"),
    Column(
        "advice",
        "string",
        "what the user can do; empty if there is no advice, null if the fault has ended (`gone` is true)",
    ),
)

TABLES = (GROUPS, MEMBERS, PARTITIONS, FAULTS, POLLS)
"""All recorded tables, in the order in which `LakeWriter.flush` writes them. `polls` is the last one."""


def day_of(poll: int) -> date:
    """Return the UTC day of a poll, given in milliseconds since the epoch."""
    return utc_datetime(poll / 1000).date()
