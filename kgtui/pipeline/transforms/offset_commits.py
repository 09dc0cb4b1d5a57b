"""Offset commits, nearly all of what is in the topic, decoded by Spark's own expressions: no Python on the row's path.

Only what these expressions are sure to read exactly as `kgtui.protocol.records` does counts as `plain`: commits of
versions 0 to 4 and their tombstones, whole, with valid text and numbers in their usual ranges. All else (other kinds
of records, damage, metadata of more than 126 bytes in version 4) is left to that decoder: see `records`.

Spark has no cast from bytes to a number; `conv` of `hex` is the way, unsigned and dear. So bytes that nearly always
have one value are compared instead, and each distinct key is read once. It goes in steps, each a `select` over the
one before: what is used twice is then computed once, and the JVM gets methods that are small enough to be compiled.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from kgtui.history.schemas import COMMITS
from kgtui.pipeline.spark_schema import conform

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_LATEST_MS = 253_402_300_799_999
"""The last millisecond of the year 9999: what is later is no time."""

_WHERE = ("day", "partition AS record_partition", "offset AS record_offset", "timestamp AS record_time")


def plain_commits(records: DataFrame) -> DataFrame:
    """Those of the bronze rows that are plain commits or tombstones of commits, as rows of `commits`."""
    commits = records.where(is_commit_key())
    keys = commits.select("key").distinct().transform(read_keys)
    return commits.join(keys, "key").transform(_read_values).transform(conform, COMMITS)


def not_plain(records: DataFrame) -> DataFrame:
    """The bronze rows that `plain_commits` leaves out."""
    commits = records.where(is_commit_key())
    keys = commits.select("key").distinct().transform(read_keys).select("key", F.lit(True).alias("_whole"))
    doubtful = commits.join(keys, "key", "left").transform(_laid_out).transform(_found)
    doubtful = doubtful.where(~F.coalesce(F.col("_whole") & _plain(), F.lit(False)))
    return records.where(~F.coalesce(is_commit_key(), F.lit(False))).unionByName(doubtful.select(*records.columns))


def is_commit_key() -> Column:
    """Whether a bronze row's key begins as those of offset commits do."""
    return _bytes(F.col("key"), 1, 2).isin(F.lit(b"\x00\x00"), F.lit(b"\x00\x01"))


def read_keys(keys: DataFrame) -> DataFrame:
    """Keys of commits that are whole, with the group, topic and partition that they name."""
    key = F.col("key")
    named = keys.withColumn("_group_size", _number(key, 3, 2))
    named = named.withColumn("_topic_size", _number(key, F.col("_group_size") + 5, 2))
    named = named.select(
        "key",
        (F.col("_group_size") + F.col("_topic_size") + 10 - F.length(key)).alias("_over"),
        _bytes(key, 5, F.col("_group_size")).cast("string").alias("group"),
        _bytes(key, F.col("_group_size") + 7, F.col("_topic_size")).cast("string").alias("topic"),
        _bytes(key, F.length(key) - 3, 4).alias("_partition"),
    )
    whole = named.where("_over = 0 AND is_valid_utf8(`group`) AND is_valid_utf8(topic) AND _partition < X'80'")
    # A size that would be negative is too long for any key; Java counts sizes with 15 bits.
    whole = whole.where("octet_length(`group`) < 32768 AND octet_length(topic) < 32768")
    return whole.select("key", "group", "topic", _number(F.col("_partition"), 1, 4).cast("int").alias("_part"))


def _read_values(commits: DataFrame) -> DataFrame:
    """The columns of `commits`, of rows whose values are plain.

    ====== ====== ============= ================= ======== ================= ===========
    value  offset leader epoch  metadata          commit   expires           topic id
    ====== ====== ============= ================= ======== ================= ===========
    0, 2   int64                int16, text       int64
    1      int64                int16, text       int64    int64
    3      int64   int32        int16, text       int64
    4      int64   int32        varint, text      int64                      tagged uuid
    ====== ====== ============= ================= ======== ================= ===========
    """
    epoch, expires, value = F.col("_epoch"), F.col("_expires"), F.col("value")
    unknown = F.col("_modern") & (epoch != F.lit(b"\xff" * 4))
    return (
        commits.transform(_laid_out)
        .transform(_found)
        .where(_plain())
        .select(
            *map(F.expr, _WHERE),
            "group",
            "topic",
            F.col("_part").alias("partition"),
            _number(value, 4, 7).alias("offset"),
            F.when(unknown, F.when(epoch == F.lit(bytes(4)), 0).otherwise(_number(epoch, 1, 4))).alias("leader_epoch"),
            F.col("_metadata").alias("metadata"),
            F.timestamp_millis(_number(F.col("_time"), 3, 6)).alias("commit_time"),
            F.when(expires != F.lit(b"\xff" * 8), F.timestamp_millis(_number(expires, 3, 6))).alias("expire_time"),
            F.when(F.length("_topic_id") == 16, _uuid(F.col("_topic_id"))).alias("topic_id"),
        )
    )


def _laid_out(commits: DataFrame) -> DataFrame:
    """Which layout a value has, and how long its metadata is."""
    value, version = F.col("value"), _bytes(F.col("value"), 1, 2)
    four, modern = F.col("_four"), F.col("_modern")
    told = F.when(four, _bytes(value, 15, 1)).when(modern, _bytes(value, 15, 2)).otherwise(_bytes(value, 11, 2))
    none = F.when(four, F.lit(b"\x01")).otherwise(F.lit(b"\x00\x00"))
    return (
        commits.withColumns(
            {
                "_four": version == F.lit(b"\x00\x04"),
                "_modern": version.isin(F.lit(b"\x00\x03"), F.lit(b"\x00\x04")),
                "_one": version == F.lit(b"\x00\x01"),
                "_known": version <= F.lit(b"\x00\x04"),
            }
        )
        .withColumn("_told", told)
        .withColumn(
            "_size", F.when(F.col("_told") == none, 0).otherwise(_number(F.col("_told"), 1, 2) - four.cast("int"))
        )
        .withColumn("_from", F.when(four, 16).when(modern, 17).otherwise(13))
    )


def _found(commits: DataFrame) -> DataFrame:
    """The bytes of each field behind the metadata, and what follows the last."""
    value, after = F.col("value"), F.col("_from") + F.col("_size")
    return commits.withColumns(
        {
            "_metadata": F.when(F.col("_size") == 0, F.when(value.isNotNull(), "")).otherwise(
                _bytes(value, F.col("_from"), F.col("_size")).cast("string")
            ),
            "_epoch": F.when(F.col("_modern"), _bytes(value, 11, 4)),
            "_time": _bytes(value, after, 8),
            "_expires": F.when(F.col("_one"), _bytes(value, after + 8, 8)),
            "_tags": F.when(F.col("_four"), _bytes(value, after + 8, 3)),
            "_topic_id": F.when(F.col("_four"), _bytes(value, after + 11, 16)),
            "_left": F.length(value) - after - 7,
        }
    )


def _plain() -> Column:
    """Whether a value is one that can be read here; tombstones are."""
    left, tags, latest = F.col("_left"), F.col("_tags"), F.lit(_LATEST_MS.to_bytes(8, "big"))
    ending = (
        F.when(
            F.col("_four"), ((left == 1) & (tags == F.lit(b"\x00"))) | ((left == 19) & (tags == F.lit(b"\x01\x00\x10")))
        )
        .when(F.col("_one"), (left == 8) & ((F.col("_expires") <= latest) | (F.col("_expires") == F.lit(b"\xff" * 8))))
        .otherwise(left == 0)
    )
    epoch = F.col("_epoch")
    whole = (
        F.col("_known")
        & (F.col("_told") < F.lit(b"\x80"))
        & (F.col("_size") >= 0)
        & (_bytes(F.col("value"), 3, 1) == F.lit(b"\x00"))
        & F.when(F.col("_modern"), (epoch < F.lit(b"\x80")) | (epoch == F.lit(b"\xff" * 4))).otherwise(F.lit(True))
        & (F.col("_time") <= latest)
        & ending
        & ((F.col("_size") == 0) | F.is_valid_utf8("_metadata"))
    )
    return F.col("value").isNull() | F.coalesce(whole, F.lit(False))


def _uuid(data: Column) -> Column:
    return F.regexp_replace(F.lower(F.hex(data)), "^(.{8})(.{4})(.{4})(.{4})(.{12})$", "$1-$2-$3-$4-$5")


def _bytes(data: Column, at: Column | int, size: Column | int) -> Column:
    """Bytes of binary data; the first has number 1."""
    return F.substring(data, at, size)


def _number(data: Column, at: Column | int, size: int) -> Column:
    """An unsigned number of at most seven bytes."""
    return F.conv(F.hex(_bytes(data, at, size)), 16, 10).cast("long")
