"""Errors of Spark's in the words of who runs the pipeline."""

from __future__ import annotations

import pytest
from pyspark.errors import PySparkException

from kgtui.errors import SourceError
from kgtui.pipeline.trouble import failed, in_words

STACK = """An error occurred while calling o70.save.
: org.apache.spark.SparkException: [TASK_WRITE_FAILED] Task failed while writing rows to file:/lake.
\tat org.apache.spark.sql.errors.QueryExecutionErrors$.taskFailedWhileWritingRowsError(QueryExecutionErrors.scala:774)
Caused by: java.io.IOException: {cause}
\tat java.base/java.io.FileOutputStream.writeBytes(Native Method)
"""


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (STACK.format(cause="No space left on device"), "the disk is full on which the lake lies"),
        (STACK.format(cause="something new"), "Spark failed: something new"),
        ("Job aborted: java.lang.OutOfMemoryError: Java heap space", "KGTUI_SPARK_MEMORY gives it more"),
        ("[DELTA_CONCURRENT_APPEND] Files were added", "one run of the pipeline at a time"),
        ("[CONCURRENT_QUERY] Another instance of this query", "another run of the pipeline is at work"),
        ("org.apache.kafka.common.errors.TopicAuthorizationException: no", "needs Read and Describe"),
        ("\n  [X] what Spark says\n== Plan ==\n", r"Spark failed: \[X\] what Spark says$"),
    ],
)
def test_what_it_means(text: str, says: str) -> None:
    with pytest.raises(SourceError, match=says), in_words():
        raise PySparkException(text)


def test_a_jvm_that_is_gone() -> None:
    with pytest.raises(SourceError, match="JVM has ended: it was killed"), in_words():
        raise ConnectionRefusedError
    assert "JVM has ended" in str(failed(EOFError()))


def test_what_is_not_sparks_stays_as_it_is() -> None:
    with pytest.raises(KeyError), in_words():
        raise KeyError
