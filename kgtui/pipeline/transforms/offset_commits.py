"""Decode regular offset commits with Spark expressions. Nearly all records of `__consumer_offsets` are such commits.

This module is used only if Spark does not have kgtui's Java decoder. `record_decoding` decodes all other records in
Python: other record types, damaged records, and commits of version 4 with more than 126 bytes of metadata.

A value consists of its version (int16) and the fields in this table:

======= ====== ============= ================= ======== ================= ===========
version offset leader epoch  metadata          commit   expires           topic id
======= ====== ============= ================= ======== ================= ===========
0, 2    int64                int16, text       int64
1       int64                int16, text       int64    int64
3       int64   int32        int16, text       int64
4       int64   int32        varint, text      int64                      tagged UUID
======= ====== ============= ================= ======== ================= ===========

A key consists of its version (int16), the group and the topic (each int16 and text), and the partition (int32).
"""

from __future__ import annotations

from functools import cache, reduce
from typing import TYPE_CHECKING

from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, LongType

from kgtui.lake.schemas import COMMITS
from kgtui.pipeline.spark_schema import conform

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_BYTE_VALUES = 256
_UINT32_MAX = 0xFFFFFFFF
_POLYNOMIAL = 0xEDB88320


def uint32_at(data: Column, position: Column) -> Column:
    """Return the four bytes from `position` on as an unsigned number. The first byte of `data` has position 1.

    The result is arbitrary if the data is too short.
    """
    # Spark cannot cast binary data to a number, and `conv(hex(…))` is slow. `crc32` is fast, and four bytes
    # can be computed from their checksum: they are the XOR of four table entries, one per byte of the checksum. The
    # returned expression contains `checksum` four times, but Spark computes the checksum only once.
    checksum = F.crc32(F.substring(data, position, F.lit(4)))
    shifted = (F.shiftright(checksum, 8 * index) if index else checksum for index in range(4))
    lowest, *others = (_table(index)[byte.bitwiseAND(F.lit(_BYTE_VALUES - 1))] for index, byte in enumerate(shifted))
    return reduce(lambda value, part: value.bitwiseXOR(part), others, lowest)


def int64_at(data: Column, position: Column) -> Column:
    """Return the eight bytes from `position` on as a signed number. The first byte of `data` has position 1."""
    return F.shiftleft(uint32_at(data, position), 32).bitwiseOR(uint32_at(data, position + 4))


def _table(index: int) -> Column:
    """Return one of the four `crc32_inverse_tables` as an array of numbers."""
    # Let Spark parse one string of numbers, because 256 literals would slow down query planning.
    numbers = F.split(F.lit(",".join(map(str, crc32_inverse_tables()[index]))), ",")
    return numbers.cast(ArrayType(LongType(), containsNull=False))


@cache
def crc32_inverse_tables() -> tuple[list[int], ...]:
    """Return four tables of 256 numbers, with which a 32-bit number can be computed from its CRC-32.

    Each byte of the CRC-32 is the index of an entry in one table. The lowest byte is the index in the first table. The
    XOR of the four entries is the number. The CRC-32 must have been computed from the bytes of the number in big-endian
    order.
    """
    of_zero = _invert(0)
    lowest = [_invert(value) for value in range(_BYTE_VALUES)]
    others = ([_invert(value << 8 * index) ^ of_zero for value in range(_BYTE_VALUES)] for index in (1, 2, 3))
    return lowest, *others


def _invert(checksum: int) -> int:
    state = checksum ^ _UINT32_MAX
    for _ in range(32):
        state = ((state ^ _POLYNOMIAL) << 1 | 1) & _UINT32_MAX if state >> 31 else state << 1
    return int.from_bytes((state ^ _UINT32_MAX).to_bytes(4, "little"), "big")


LATEST_MS = 253_402_300_799_999
"""Last millisecond of the year 9999, in milliseconds since 1970; later times are invalid."""

_COMMIT_KEYS, _OTHER_KEYS = b"\x00\x00", b"\x00\x02"
"""The keys of offset commits are in this range of bytes: at least `_COMMIT_KEYS`, and less than `_OTHER_KEYS`.

The first two bytes of a key are its version, which is 0 or 1 for offset commits.
"""

_INT16, _INT32 = 1 << 15, 1 << 31
"""If a negative int16 (or int32) is read as an unsigned number, the result is at least `_INT16` (or `_INT32`)."""

_UNKNOWN_EPOCH = 0xFFFFFFFF
"""Value of an unknown leader epoch: the int32 -1, read as an unsigned number."""

_NEVER = b"\xff" * 8
"""Bytes of the field "expires" in a commit that never expires: the int64 -1."""

_UUID_SIZE = 16

_MAX_V4_METADATA_BYTES = 126
"""Maximum size of the metadata of a version 4 commit that Spark expressions can decode, in bytes.

If the metadata is larger, its length is a varint of more than one byte.
"""

_POSITION = ("day", "partition", "offset", "timestamp", "key")
_TOMBSTONE, _UNKNOWN = -1, -2
"""Values of column `_layout` for tombstones, and for commits with an unknown version.

For other commits, the column is the version of the value, but 0 for version 2, which has the fields of version 0.
"""


def regular_commits(records: DataFrame) -> DataFrame:
    """Return rows of silver `commits` for the offset commits that Spark expressions can decode, and for no others."""
    return records.transform(commit_records).transform(_with_fields).where(_is_regular()).transform(_to_table)


def commit_records(records: DataFrame) -> DataFrame:
    """Return the bronze rows with the keys of offset commits (version 0 or 1)."""
    return records.where((F.col("key") >= F.lit(_COMMIT_KEYS)) & (F.col("key") < F.lit(_OTHER_KEYS)))


def non_commits(records: DataFrame) -> DataFrame:
    """Return the bronze rows whose keys are not keys of offset commits.

    Whole keys are compared, because Spark can then use the Parquet statistics of the column `key` to skip most row
    groups.
    """
    key = F.col("key")
    return records.where((key < F.lit(_COMMIT_KEYS)) | (key >= F.lit(_OTHER_KEYS)) | key.isNull())


def irregular_commits(records: DataFrame) -> DataFrame:
    """Return the bronze rows of offset commits that Spark expressions cannot decode. They must be decoded in Python."""
    value = F.when(F.col("_layout") != _TOMBSTONE, F.col("value")).alias("value")
    rows = records.transform(commit_records).transform(_with_fields).where(~F.coalesce(_is_regular(), F.lit(False)))
    return rows.select(*(value if name == "value" else name for name in records.columns))


def _with_fields(commits: DataFrame) -> DataFrame:
    """Add the decoded fields of offset commits. In rows in which `_is_regular` is false, the values are meaningless."""
    return commits.transform(_with_layout).transform(_with_sizes).transform(_extract_fields)


def _with_layout(commits: DataFrame) -> DataFrame:
    """Add `_layout`, which says where the fields of a value are, and `_group_size`, the size of the group id in bytes.

    The null value of a tombstone is replaced by empty bytes.
    """
    value = F.coalesce("value", F.lit(b""))
    version = _bytes(value, 1, 2)
    layout = F.when(version == F.lit(b"\0\4"), 4).when(version == F.lit(b"\0\3"), 3).when(version == F.lit(b"\0\1"), 1)
    layout = layout.when(version.isin(F.lit(b"\0\0"), F.lit(b"\0\2")), 0)
    layout = layout.when(F.col("value").isNull(), _TOMBSTONE).otherwise(_UNKNOWN)
    size = _int16(F.col("key"), F.lit(1))
    return commits.select(*_POSITION, value.alias("value"), layout.alias("_layout"), size.alias("_group_size"))


def _with_sizes(commits: DataFrame) -> DataFrame:
    layout, value = F.col("_layout"), F.col("value")
    short, long = _bytes(value, 15, 1), _bytes(value, F.when(layout == 3, 15).otherwise(11), 2)
    size = (
        F.when(layout == 4, F.when(short == F.lit(b"\x01"), 0).otherwise(_number(short) - 1))
        .when(long == F.lit(b"\x00\x00"), 0)
        .otherwise(_number(long))
    )
    begins = F.when(layout == 4, 16).when(layout == 3, 17).otherwise(13)
    return commits.select(
        *_POSITION,
        "value",
        "_layout",
        "_group_size",
        _int16(F.col("key"), F.col("_group_size") + 3).alias("_topic_size"),
        F.coalesce(size.cast("int"), F.lit(-1)).alias("_size"),
        begins.alias("_begins"),
    )


def _extract_fields(commits: DataFrame) -> DataFrame:
    """Add the fields of a commit, and two columns about the bytes after the commit time.

    - `_left`: number of these bytes
    - `_tail`: first 8 of these bytes
    """
    key, value, size = F.col("key"), F.col("value"), F.col("_size")
    after = F.col("_begins") + size
    return commits.select(
        *_POSITION,
        "value",
        "_layout",
        "_size",
        "_group_size",
        "_topic_size",
        _text(key, F.lit(5), F.col("_group_size")).alias("_group"),
        _text(key, F.col("_group_size") + 7, F.col("_topic_size")).alias("_topic"),
        uint32_at(key, F.length(key) - 3).alias("_part"),
        int64_at(value, F.lit(3)).alias("_offset"),
        uint32_at(value, F.lit(11)).alias("_epoch"),
        F.when(size > 0, _text(value, F.col("_begins"), size)).otherwise("").alias("_metadata"),
        int64_at(value, after).alias("_time"),
        _bytes(value, after + 8, 8).alias("_tail"),
        (F.length(value) - after - 7).alias("_left"),
        (after + 11).alias("_topic_id_at"),
        # Without the column `_row`, Spark would apply the filter `_is_regular` earlier, and compute all fields twice.
        F.monotonically_increasing_id().alias("_row"),
    )


def _is_regular() -> Column:
    layout = F.col("_layout")
    valid = (layout == _TOMBSTONE) | ((layout >= 0) & _is_valid_value())
    return (F.col("_row") >= 0) & _is_valid_key() & valid


def _is_valid_key() -> Column:
    group_size, topic_size = F.col("_group_size"), F.col("_topic_size")
    return (
        (group_size + topic_size + 10 == F.length("key"))
        & (group_size < _INT16)  # The length of a Kafka string is a signed 16-bit integer.
        & (topic_size < _INT16)
        & (F.col("_part") < _INT32)
        & F.is_valid_utf8("_group")
        & F.is_valid_utf8("_topic")
    )


def _is_valid_value() -> Column:
    layout, size, epoch = F.col("_layout"), F.col("_size"), F.col("_epoch")
    left, tail, latest = F.col("_left"), F.col("_tail"), F.lit(LATEST_MS.to_bytes(8, "big"))
    tagged = (left == 19) & (_bytes(tail, 1, 3) == F.lit(b"\x01\x00\x10")) & (_topic_id() != F.lit(bytes(_UUID_SIZE)))
    ending = (
        F.when(layout == 4, ((left == 1) & (tail == F.lit(b"\x00"))) | tagged)
        .when(layout == 1, (left == 8) & ((tail <= latest) | (tail == F.lit(_NEVER))))
        .otherwise(left == 0)
    )
    return (
        ending
        & size.between(0, F.when(layout == 4, _MAX_V4_METADATA_BYTES).otherwise(_INT16 - 1))
        & F.col("_time").between(0, LATEST_MS)
        & ((layout < 3) | (epoch < _INT32) | (epoch == _UNKNOWN_EPOCH))
        & ((size == 0) | F.is_valid_utf8("_metadata"))
    )


def _to_table(commits: DataFrame) -> DataFrame:
    epoch, tail, layout = F.col("_epoch"), F.col("_tail"), F.col("_layout")
    has_value = layout != _TOMBSTONE
    expires = (layout == 1) & (tail != F.lit(_NEVER))
    return commits.select(
        "day",
        F.col("partition").alias("record_partition"),
        F.col("offset").alias("record_offset"),
        F.col("timestamp").alias("record_time"),
        F.col("_group").alias("group"),
        F.col("_topic").alias("topic"),
        F.col("_part").cast("int").alias("partition"),
        F.when(has_value, F.col("_offset")).alias("offset"),
        F.when((layout >= 3) & (epoch != _UNKNOWN_EPOCH), epoch.cast("int")).alias("leader_epoch"),
        F.when(has_value, F.col("_metadata")).alias("metadata"),
        F.when(has_value, F.timestamp_millis("_time")).alias("commit_time"),
        F.when(expires, F.timestamp_millis(_number(_bytes(tail, 3, 6)))).alias("expire_time"),
        F.when(has_value & (F.col("_left") == 19), _uuid_text(_topic_id())).alias("topic_id"),
        F.lit(None).alias("unknown_fields"),
    ).transform(conform, COMMITS)


def _topic_id() -> Column:
    return _bytes(F.col("value"), F.col("_topic_id_at"), _UUID_SIZE)


def _uuid_text(uuid: Column) -> Column:
    """Format a UUID of 16 bytes like `kgtui.protocol.records.format_uuid`."""
    text = F.substring(F.base64(uuid), 1, 22)
    return F.replace(F.replace(text, F.lit("+"), F.lit("-")), F.lit("/"), F.lit("_"))


def _bytes(data: Column, position: Column | int, size: Column | int) -> Column:
    """Return `size` bytes of binary data from `position` on. The first byte of `data` has position 1."""
    return F.substring(data, position, size)


def _text(data: Column, position: Column, size: Column) -> Column:
    return _bytes(data, position, size).cast("string")


def _int16(data: Column, position: Column) -> Column:
    """Return the two bytes from `position + 2` on as an unsigned number. The first byte of `data` has position 1.

    The function reads four bytes from `position` on with `uint32_at`, which is fast, and drops the first two of them.
    """
    return uint32_at(data, position).bitwiseAND(F.lit(0xFFFF)).cast("int")


def _number(data: Column) -> Column:
    """Convert at most seven bytes to an unsigned number. The conversion is slow, so it is used only for rare fields."""
    return F.conv(F.hex(data), 16, 10).cast("long")
