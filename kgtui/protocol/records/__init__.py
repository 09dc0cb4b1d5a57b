"""Decode and encode the records of `__consumer_offsets`, which group coordinators write for every group.

This package may import other modules of `kgtui.protocol`, but neither sockets nor Spark. Spark executors, to which
kgtui sends its code, import this package too.

| record types  | content                                                                          |
|---------------|----------------------------------------------------------------------------------|
| 0, 1          | committed offsets of classic, consumer and streams groups (value versions 0 to 4) |
| 2             | a classic group with all its members (value versions 0 to 4)                     |
| 3 to 8, 16    | consumer groups (KIP-848)                                                        |
| 10 to 15      | share groups (KIP-932)                                                           |
| 17, 19 to 23  | streams groups (KIP-1071)                                                        |

A key begins with its record type, and a value with its version. A record without a value is a tombstone, which deletes
the earlier records with the same key. Consumers of the topic must ignore the records of aborted transactions, so they
need the config `isolation.level=read_committed`.
"""

from __future__ import annotations

from kgtui.protocol.records.codec import (
    ClassicMember,
    CoordinatorRecord,
    DecodeFailure,
    Undecodable,
    as_json,
    classic_members,
    decode,
    encode,
    format_uuid,
    unknown_tags,
    value_message,
)
from kgtui.protocol.records.schemas import RECORD_SCHEMAS, RecordSchema, RecordType

__all__ = [
    "RECORD_SCHEMAS",
    "ClassicMember",
    "CoordinatorRecord",
    "DecodeFailure",
    "RecordSchema",
    "RecordType",
    "Undecodable",
    "as_json",
    "classic_members",
    "decode",
    "encode",
    "format_uuid",
    "unknown_tags",
    "value_message",
]
