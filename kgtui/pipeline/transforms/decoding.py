"""Decode records of `__consumer_offsets` into rows of the silver tables, with the fastest decoder that Spark has.

The function in the JVM (`kgtui.pipeline.jvm_decoder`) decodes any record. Without it, `offset_commits` decodes regular
commits with Spark expressions, and `record_decoding` decodes all other records with Python. The rows are the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kgtui.lake.schemas import COMMITS
from kgtui.pipeline.jvm_decoder import decode_in_jvm, has_decoder
from kgtui.pipeline.transforms.offset_commits import commit_records, irregular_commits, non_commits, regular_commits
from kgtui.pipeline.transforms.record_decoding import decode_records, rows_for

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def decode_commits(records: DataFrame) -> DataFrame:
    """Decode bronze rows into rows of silver `commits`. Other records, and a few unusual commits, are left out."""
    if has_decoder(records.sparkSession):
        return rows_for(decode_in_jvm(records.transform(commit_records)), COMMITS)
    return records.transform(regular_commits)


def decode_non_commits(records: DataFrame) -> DataFrame:
    """Decode the bronze rows without a key of a commit into rows of `record_decoding.SCHEMA`."""
    decode = decode_in_jvm if has_decoder(records.sparkSession) else decode_records
    return records.transform(non_commits).transform(decode)


def decode_unusual_commits(records: DataFrame) -> DataFrame:
    """Decode the commits that `decode_commits` leaves out into rows of `record_decoding.SCHEMA`.

    In the JVM, these are only damaged commits.
    """
    if has_decoder(records.sparkSession):
        return records.transform(commit_records).transform(decode_in_jvm).where("commit IS NULL")
    return records.transform(irregular_commits).transform(decode_records)
