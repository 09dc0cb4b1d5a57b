"""Offset commits, nearly all of what is in the topic, decoded by Spark's own expressions: no Python on the row's path.

Only what these expressions are sure to read exactly as `kgtui.protocol.records` does counts as `plain`: commits of
versions 0 to 4 and their tombstones, whole, with valid text and numbers in their usual ranges. All else (other kinds
of records, damage, metadata of more than 126 bytes in version 4) is left to that decoder: see `records`.

It goes in three steps, each a `select` over the one before: where the fields are depends on the sizes before them,
and what a step has found is not computed again.

====== ====== ============= ================= ======== ================= ===========
value  offset leader epoch  metadata          commit   expires           topic id
====== ====== ============= ================= ======== ================= ===========
0, 2   int64                int16, text       int64
1      int64                int16, text       int64    int64
3      int64   int32        int16, text       int64
4      int64   int32        varint, text      int64                      tagged UUID
====== ====== ============= ================= ======== ================= ===========

A key is an int16 number of its kind, the group and the topic (int16, text each), and the partition (int32).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from kgtui.lake.schemas import COMMITS
from kgtui.pipeline.spark_schema import conform
from kgtui.pipeline.transforms.words import long_at, word_at

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_LATEST_MS = 253_402_300_799_999
"""The last millisecond of the year 9999: what is later is no time."""

_COMMIT_KEYS, _OTHER_KEYS = b"\x00\x00", b"\x00\x02"
"""Between these are the keys of commits, as bytes are ordered."""

_INT16, _INT32 = 1 << 15, 1 << 31
_UNKNOWN_EPOCH = 0xFFFFFFFF
_NEVER = b"\xff" * 8
_UUID = 16
"""Bytes of one."""

_ONE_BYTE = 126
"""The longest text whose size, in version 4, is one byte."""

_PLACE = ("day", "partition", "offset", "timestamp", "key")
_TOMBSTONE, _UNKNOWN = -1, -2
"""Values of `_layout` other than 0 (for versions 0 and 2), 1, 3 and 4."""


def plain_commits(records: DataFrame) -> DataFrame:
    """Those of the bronze rows that are plain commits or tombstones of commits, as rows of `commits`."""
    return records.where(_is_commit_key()).transform(_read).where(_plain()).transform(_contract)


def not_plain(records: DataFrame) -> DataFrame:
    """The bronze rows that `plain_commits` leaves out."""
    return records.transform(others).unionByName(records.transform(doubtful_commits))


def others(records: DataFrame) -> DataFrame:
    """The bronze rows whose keys are not those of commits. Files tell which of their parts have none such."""
    key = F.col("key")
    return records.where((key < F.lit(_COMMIT_KEYS)) | (key >= F.lit(_OTHER_KEYS)) | key.isNull())


def doubtful_commits(records: DataFrame) -> DataFrame:
    """The bronze rows with keys of commits that are not plain."""
    value = F.when(F.col("_layout") != _TOMBSTONE, F.col("value")).alias("value")
    left = records.where(_is_commit_key()).transform(_read).where(~F.coalesce(_plain(), F.lit(False)))
    return left.select(*(value if name == "value" else name for name in records.columns))


def _is_commit_key() -> Column:
    """Whether a bronze row's key begins as those of offset commits do."""
    return (F.col("key") >= F.lit(_COMMIT_KEYS)) & (F.col("key") < F.lit(_OTHER_KEYS))


def _read(commits: DataFrame) -> DataFrame:
    """The fields of records with keys of commits; of those that are not plain they are nonsense."""
    return commits.transform(_laid_out).transform(_measured).transform(_found)


def _laid_out(commits: DataFrame) -> DataFrame:
    """Which layout a value has, and how long the group in the key is. From here on nothing is null."""
    value = F.coalesce("value", F.lit(b""))
    version = _bytes(value, 1, 2)
    layout = F.when(version == F.lit(b"\0\4"), 4).when(version == F.lit(b"\0\3"), 3).when(version == F.lit(b"\0\1"), 1)
    layout = layout.when(version.isin(F.lit(b"\0\0"), F.lit(b"\0\2")), 0)
    layout = layout.when(F.col("value").isNull(), _TOMBSTONE).otherwise(_UNKNOWN)
    size = _int16(F.col("key"), F.lit(1))
    return commits.select(*_PLACE, value.alias("value"), layout.alias("_layout"), size.alias("_group_size"))


def _measured(commits: DataFrame) -> DataFrame:
    """How long the topic and the metadata are, and so where the metadata begins and what follows it."""
    layout, value = F.col("_layout"), F.col("value")
    short, long = _bytes(value, 15, 1), _bytes(value, F.when(layout == 3, 15).otherwise(11), 2)
    size = (
        F.when(layout == 4, F.when(short == F.lit(b"\x01"), 0).otherwise(_number(short) - 1))
        .when(long == F.lit(b"\x00\x00"), 0)
        .otherwise(_number(long))
    )
    begins = F.when(layout == 4, 16).when(layout == 3, 17).otherwise(13)
    return commits.select(
        *_PLACE,
        "value",
        "_layout",
        "_group_size",
        _int16(F.col("key"), F.col("_group_size") + 3).alias("_topic_size"),
        F.coalesce(size.cast("int"), F.lit(-1)).alias("_size"),
        begins.alias("_begins"),
    )


def _found(commits: DataFrame) -> DataFrame:
    """The fields, and what follows the last of those that all layouts have.

    A number that grows from row to row is among them for one reason: a filter that asks for it comes after this step.
    Spark would have it before, and compute all that it asks for twice.
    """
    key, value, size = F.col("key"), F.col("value"), F.col("_size")
    after = F.col("_begins") + size
    return commits.select(
        *_PLACE,
        "value",
        "_layout",
        "_size",
        "_group_size",
        "_topic_size",
        _text(key, F.lit(5), F.col("_group_size")).alias("_group"),
        _text(key, F.col("_group_size") + 7, F.col("_topic_size")).alias("_topic"),
        word_at(key, F.length(key) - 3).alias("_part"),
        long_at(value, F.lit(3)).alias("_offset"),
        word_at(value, F.lit(11)).alias("_epoch"),
        F.when(size > 0, _text(value, F.col("_begins"), size)).otherwise("").alias("_metadata"),
        long_at(value, after).alias("_time"),
        _bytes(value, after + 8, 8).alias("_tail"),
        (F.length(value) - after - 7).alias("_left"),
        (after + 11).alias("_topic_id_at"),
        F.monotonically_increasing_id().alias("_row"),
    )


def _plain() -> Column:
    """Whether what was found is sure to be so."""
    layout = F.col("_layout")
    known = (layout == _TOMBSTONE) | ((layout >= 0) & _whole_value())
    return (F.col("_row") >= 0) & _whole_key() & known


def _whole_key() -> Column:
    group_size, topic_size = F.col("_group_size"), F.col("_topic_size")
    return (
        (group_size + topic_size + 10 == F.length("key"))
        & (group_size < _INT16)  # Java counts sizes with 15 bits
        & (topic_size < _INT16)
        & (F.col("_part") < _INT32)
        & F.is_valid_utf8("_group")
        & F.is_valid_utf8("_topic")
    )


def _whole_value() -> Column:
    layout, size, epoch = F.col("_layout"), F.col("_size"), F.col("_epoch")
    left, tail, latest = F.col("_left"), F.col("_tail"), F.lit(_LATEST_MS.to_bytes(8, "big"))
    tagged = (left == 19) & (_bytes(tail, 1, 3) == F.lit(b"\x01\x00\x10")) & (_topic_id() != F.lit(bytes(_UUID)))
    ending = (
        F.when(layout == 4, ((left == 1) & (tail == F.lit(b"\x00"))) | tagged)
        .when(layout == 1, (left == 8) & ((tail <= latest) | (tail == F.lit(_NEVER))))
        .otherwise(left == 0)
    )
    return (
        ending
        & size.between(0, F.when(layout == 4, _ONE_BYTE).otherwise(_INT16 - 1))
        & F.col("_time").between(0, _LATEST_MS)
        & ((layout < 3) | (epoch < _INT32) | (epoch == _UNKNOWN_EPOCH))
        & ((size == 0) | F.is_valid_utf8("_metadata"))
    )


def _contract(commits: DataFrame) -> DataFrame:
    epoch, tail, layout = F.col("_epoch"), F.col("_tail"), F.col("_layout")
    there = layout != _TOMBSTONE
    expires = (layout == 1) & (tail != F.lit(_NEVER))
    return commits.select(
        "day",
        F.col("partition").alias("record_partition"),
        F.col("offset").alias("record_offset"),
        F.col("timestamp").alias("record_time"),
        F.col("_group").alias("group"),
        F.col("_topic").alias("topic"),
        F.col("_part").cast("int").alias("partition"),
        F.when(there, F.col("_offset")).alias("offset"),
        F.when((layout >= 3) & (epoch != _UNKNOWN_EPOCH), epoch.cast("int")).alias("leader_epoch"),
        F.when(there, F.col("_metadata")).alias("metadata"),
        F.when(there, F.timestamp_millis("_time")).alias("commit_time"),
        F.when(expires, F.timestamp_millis(_number(_bytes(tail, 3, 6)))).alias("expire_time"),
        F.when(there & (F.col("_left") == 19), _printed(_topic_id())).alias("topic_id"),
    ).transform(conform, COMMITS)


def _topic_id() -> Column:
    return _bytes(F.col("value"), F.col("_topic_id_at"), _UUID)


def _printed(uuid: Column) -> Column:
    """Its sixteen bytes as `kgtui.protocol.records.format_uuid` has them: URL-safe base64 without its padding."""
    text = F.substring(F.base64(uuid), 1, 22)
    return F.replace(F.replace(text, F.lit("+"), F.lit("-")), F.lit("/"), F.lit("_"))


def _bytes(data: Column, at: Column | int, size: Column | int) -> Column:
    """Bytes of binary data; the first has number 1."""
    return F.substring(data, at, size)


def _text(data: Column, at: Column, size: Column) -> Column:
    return _bytes(data, at, size).cast("string")


def _int16(data: Column, at: Column) -> Column:
    """The lower half of a word: an unsigned number."""
    return word_at(data, at).bitwiseAND(F.lit(0xFFFF)).cast("int")


def _number(data: Column) -> Column:
    """An unsigned number of at most seven bytes, slowly: for what there is little of."""
    return F.conv(F.hex(data), 16, 10).cast("long")
