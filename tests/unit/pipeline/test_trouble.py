"""Errors of Spark's in the words of who runs the pipeline."""

from __future__ import annotations

import pytest
from pyspark.errors import PySparkException

from kgtui.errors import SourceError
from kgtui.pipeline.spark_errors import to_source_error, translated_spark_errors

STACK = """An error occurred while calling o70.save.
: org.apache.spark.SparkException: [TASK_WRITE_FAILED] Task failed while writing rows to file:/lake.
\tat org.apache.spark.sql.errors.QueryExecutionErrors$.taskFailedWhileWritingRowsError(QueryExecutionErrors.scala:774)
Caused by: java.io.IOException: {cause}
\tat java.base/java.io.FileOutputStream.writeBytes(Native Method)
"""


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (STACK.format(cause="No space left on device"), "no space is left on the disk of the lake"),
        (STACK.format(cause="something new"), "Spark failed: something new"),
        ("Job aborted: java.lang.OutOfMemoryError: Java heap space", "KGTUI_SPARK_MEMORY gives it more"),
        ("[DELTA_CONCURRENT_APPEND] Files were added", "start only one run of the pipeline"),
        ("[CONCURRENT_QUERY] Another instance of this query", "another run of the pipeline is working"),
        ("org.apache.kafka.common.errors.TopicAuthorizationException: no", "needs Read and Describe"),
        ("\n  [X] what Spark says\n== Plan ==\n", r"Spark failed: \[X\] what Spark says$"),
    ],
)
def test_what_it_means(text: str, says: str) -> None:
    with pytest.raises(SourceError, match=says), translated_spark_errors():
        raise PySparkException(text)


def test_a_jvm_that_is_gone() -> None:
    with pytest.raises(SourceError, match="JVM has exited: it was killed"), translated_spark_errors():
        raise ConnectionRefusedError
    assert "JVM has exited" in str(to_source_error(EOFError()))


def test_what_is_not_sparks_stays_as_it_is() -> None:
    with pytest.raises(KeyError), translated_spark_errors():
        raise KeyError
