"""Decode offset commits of `__consumer_offsets` with Spark expressions.

Nearly all records of this topic are offset commits. The module is used only if Spark does not have
kgtui's Java decoder. The module `record_decoding` decodes all other records in Python: records that
are not offset commits, damaged records, and unusual offset commits. A commit is unusual if, for
example, its value has version 4 and more than 126 bytes of metadata.

The value of an offset commit consists of its version (int16) and the fields in this table:

======= ====== ============= ================= ======== ================= ===========
version offset leader epoch  metadata          commit   expires           topic id
======= ====== ============= ================= ======== ================= ===========
0, 2    int64                int16, text       int64
1       int64                int16, text       int64    int64
3       int64   int32        int16, text       int64
4       int64   int32        varint, text      int64                      tagged UUID
======= ====== ============= ================= ======== ================= ===========

The key of an offset commit consists of its version (int16), the group and the topic (each an int16
with the length, and text), and the partition (int32).
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
    """Return a Spark expression: the four bytes from `position` on, as an unsigned number.

    The first byte of `data` has position 1. The result is arbitrary if `data` is too short.
    """
    # Spark cannot cast binary data to a number, and `conv(hex(…))` is slow. The function `crc32` is
    # fast, and four bytes can be computed from their CRC-32: they are the XOR of four table
    # entries, one per byte of the CRC-32. The returned expression contains `checksum` four times,
    # but Spark computes the checksum only once.
    checksum = F.crc32(F.substring(data, position, F.lit(4)))
    shifted = (F.shiftright(checksum, 8 * index) if index else checksum for index in range(4))
    lowest, *others = (_table(index)[byte.bitwiseAND(F.lit(_BYTE_VALUES - 1))] for index, byte in enumerate(shifted))
    return reduce(lambda value, part: value.bitwiseXOR(part), others, lowest)


def int64_at(data: Column, position: Column) -> Column:
    """Return a Spark expression: the eight bytes from `position` on, as a signed number.

    The first byte of `data` has position 1.
    """
    return F.shiftleft(uint32_at(data, position), 32).bitwiseOR(uint32_at(data, position + 4))


def _table(index: int) -> Column:
    # Pass the numbers to Spark as one string, because 256 literals would slow down query planning.
    numbers = F.split(F.lit(",".join(map(str, crc32_inverse_tables()[index]))), ",")
    return numbers.cast(ArrayType(LongType(), containsNull=False))


@cache
def crc32_inverse_tables() -> tuple[list[int], ...]:
    """Return four tables of 256 numbers, from which a 32-bit number is computed from its CRC-32.

    Each byte of the CRC-32 is an index in one of the tables; the lowest byte is the index in the
    first table. The XOR of the four entries at these indexes is the number. The CRC-32 must be that
    of the bytes of the number in big-endian order.
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
"""Range of the keys of offset commits: from `_COMMIT_KEYS` on, and before `_OTHER_KEYS`.

Keys are compared as bytes. The first two bytes of a key are its version, which is 0 or 1 for offset
commits.
"""

_INT16, _INT32 = 1 << 15, 1 << 31
"""If a negative int16 is read as an unsigned number, the result is at least `_INT16`.

`_INT32` is the corresponding number for int32.
"""

_UNKNOWN_EPOCH = 0xFFFFFFFF
"""Value of an unknown leader epoch: the int32 -1, read as an unsigned number."""

_NEVER = b"\xff" * 8
"""Bytes of the expiry time in an offset commit that does not request one: the int64 -1."""

_UUID_SIZE = 16

_MAX_V4_METADATA_BYTES = 126
"""Maximum size of the metadata in a version 4 commit that Spark expressions can decode, in bytes.

The length of larger metadata is a varint of more than one byte, which the expressions cannot read.
"""

_POSITION = ("day", "partition", "offset", "timestamp", "key")
_TOMBSTONE, _UNKNOWN = -1, -2
"""Values of the column `_layout` for tombstones, and for values with an unknown version.

The column says where the fields of a commit's value are. For all other commits, the column has the
version of the value. The only exception is version 2, for which the column is 0, because version 2
has the same fields as version 0.
"""


def regular_commits(records: DataFrame) -> DataFrame:
    """Return rows of the silver table `commits` for all commits that Spark expressions can decode.

    Args:
        records: rows of the bronze table (undecoded records of `__consumer_offsets`). All other
            records are left out.
    """
    return records.transform(commit_records).transform(_with_fields).where(_is_regular()).transform(_to_table)


def commit_records(records: DataFrame) -> DataFrame:
    """Return the rows of the bronze table that are offset commits (keys with version 0 or 1)."""
    return records.where((F.col("key") >= F.lit(_COMMIT_KEYS)) & (F.col("key") < F.lit(_OTHER_KEYS)))


def non_commits(records: DataFrame) -> DataFrame:
    """Return the rows of the bronze table whose keys are not keys of offset commits, or are null.

    Whole keys are compared, and not only their first two bytes. Spark can then skip most Parquet
    row groups, because their statistics contain the lowest and the highest key.
    """
    key = F.col("key")
    return records.where((key < F.lit(_COMMIT_KEYS)) | (key >= F.lit(_OTHER_KEYS)) | key.isNull())


def irregular_commits(records: DataFrame) -> DataFrame:
    """Return the rows of the bronze table with offset commits that Spark expressions cannot decode.

    These commits must be decoded in Python (see the module `record_decoding`).
    """
    value = F.when(F.col("_layout") != _TOMBSTONE, F.col("value")).alias("value")
    rows = records.transform(commit_records).transform(_with_fields).where(~F.coalesce(_is_regular(), F.lit(False)))
    return rows.select(*(value if name == "value" else name for name in records.columns))


def _with_fields(commits: DataFrame) -> DataFrame:
    """Add columns with the decoded fields of offset commits.

    If `_is_regular` is false in a row, Spark expressions cannot decode the commit, and the values
    in the new columns are meaningless.
    """
    return commits.transform(_with_layout).transform(_with_sizes).transform(_extract_fields)


def _with_layout(commits: DataFrame) -> DataFrame:
    """Add two columns, and replace the null value of a tombstone by empty bytes.

    - `_layout`: number that says where the fields of the commit's value are
    - `_group_size`: size of the group id in bytes, read from the key
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
    """Add the fields of an offset commit as columns, and columns about the end of its value.

    - `_left`: number of bytes after the commit time
    - `_tail`: the first 8 of these bytes
    - `_topic_id_at`: position at which the topic id begins, if the value has one
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
        # Prevent Spark from applying the filter `_is_regular` before this step. Otherwise, Spark
        # would compute all fields twice. The filter uses `_row`, which is not deterministic.
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
    """Format a UUID of 16 bytes as URL-safe base64, like `kgtui.protocol.records.format_uuid`."""
    text = F.substring(F.base64(uuid), 1, 22)
    return F.replace(F.replace(text, F.lit("+"), F.lit("-")), F.lit("/"), F.lit("_"))


def _bytes(data: Column, position: Column | int, size: Column | int) -> Column:
    """Return `size` bytes of `data` from `position` on. The first byte has position 1."""
    return F.substring(data, position, size)


def _text(data: Column, position: Column, size: Column) -> Column:
    return _bytes(data, position, size).cast("string")


def _int16(data: Column, position: Column) -> Column:
    """Return the two bytes of `data` from `position + 2` on, as an unsigned number.

    The first byte of `data` has position 1. The function reads four bytes from `position` on with
    `uint32_at`, which is fast, and drops the first two of these bytes.
    """
    return uint32_at(data, position).bitwiseAND(F.lit(0xFFFF)).cast("int")


def _number(data: Column) -> Column:
    """Convert at most seven bytes to an unsigned number.

    The conversion is slow, so it is used only for fields that most commits do not have.
    """
    return F.conv(F.hex(data), 16, 10).cast("long")
