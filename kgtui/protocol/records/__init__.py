"""The records of `__consumer_offsets`: what group coordinators write of every group, decoded and encoded.

May import the rest of `kgtui.protocol`; no sockets, no Spark, so that it can be shipped to executors.

One table for each key and value, as in the 44 schemas of Kafka 4.3.1's group coordinator (`common/message/*.json`
in its jar)::

    offset_commits      0, 1            commits of groups of every type but share groups (values 0 to 4)
    classic_groups      2               a classic group with all its members (values 0 to 4)
    consumer_groups     3 to 8, 16      consumer groups (KIP-848)
    share_groups        10 to 15        share groups (KIP-932)
    streams_groups      17, 19 to 23    streams groups (KIP-1071)

A key begins with the number of its kind, a value with its version; a record without a value is a tombstone: what
its key names is gone. `decode` gives a `CoordinatorRecord`, or an `Undecodable` with the reason, which belongs into
a quarantine. `classic_members` reads the bytes inside a classic group's record; `as_json` prints a record as Kafka
does, `printed_uuid` the id of a topic. To have only records that count, read the topic with
`isolation.level=read_committed`.
"""

from __future__ import annotations

from kgtui.protocol.records.classic_members import ClassicMember, classic_members
from kgtui.protocol.records.decoding import KINDS, CoordinatorRecord, Fault, Undecodable, decode, encode
from kgtui.protocol.records.kind import Kind, RecordType
from kgtui.protocol.records.printed import as_json, printed_uuid

__all__ = [
    "KINDS",
    "ClassicMember",
    "CoordinatorRecord",
    "Fault",
    "Kind",
    "RecordType",
    "Undecodable",
    "as_json",
    "classic_members",
    "decode",
    "encode",
    "printed_uuid",
]
