"""Tests of `spark_errors`, which converts errors of Spark, Delta Lake and Kafka to short messages for users."""

from __future__ import annotations

import pytest
from pyspark.errors import PySparkException

from kgtui.errors import SourceError
from kgtui.pipeline.spark_errors import known_message, to_source_error, translated_spark_errors

STACK = """An error occurred while calling o70.save.
: org.apache.spark.SparkException: [TASK_WRITE_FAILED] Task failed while writing rows to file:/lake.
\tat org.apache.spark.sql.errors.QueryExecutionErrors$.taskFailedWhileWritingRowsError(QueryExecutionErrors.scala:774)
Caused by: java.io.IOException: {cause}
\tat java.base/java.io.FileOutputStream.writeBytes(Native Method)
"""


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (STACK.format(cause="No space left on device"), "no space is left on the disk of the lake"),
        (STACK.format(cause="something new"), "Spark failed: something new"),
        ("Job aborted: java.lang.OutOfMemoryError: Java heap space", "set KGTUI_SPARK_MEMORY to a larger size"),
        ("[DELTA_CONCURRENT_APPEND] Files were added", "start only one run of the pipeline"),
        ("[CONCURRENT_QUERY] Another instance of this query", "another run of the pipeline is working"),
        ("org.apache.kafka.common.errors.TopicAuthorizationException: no", "needs Read and Describe"),
        (
            "[PYTHON_VERSION_MISMATCH] Python in worker has different version: 3.9",
            r"set PYSPARK_PYTHON to its path there",
        ),
        (STACK.format(cause='Cannot run program "python3": error=2'), "workers have no Python on their PATH"),
        ("ModuleNotFoundError: No module named 'pyarrow'", "install pandas and pyarrow for it"),
        ("All masters are unresponsive! Giving up.", "no Spark master answers at the address that --master gives"),
        ("java.nio.file.AccessDeniedException: s3a://b/lake", "Spark is not permitted to write into the lake"),
        (
            STACK.format(
                cause="java.io.FileNotFoundException: /lake/silver/commits/part-0.parquet (Permission denied)"
            ),
            "Spark is not permitted to write into the lake",
        ),
        (STACK.format(cause="Mkdirs failed to create file:/lake/silver/commits/_temporary"), "Spark is not permitted"),
        (
            STACK.format(
                cause="software.amazon.awssdk.core.exception.SdkClientException: Unable to execute HTTP request"
            ),
            "the object store that contains the lake no longer responds: .* it continues where it stopped",
        ),
        (
            "Call From worker/10.0.0.1 to namenode:8020 failed on connection exception: java.net.ConnectException",
            "the object store that contains the lake no longer responds",
        ),
        (
            "java.io.InvalidClassException: org.apache.spark.rdd.RDD; local class incompatible",
            "kgtui uses Spark .*, but the Spark cluster runs a different version",
        ),
        (
            "[KAFKA_DATA_LOSS.START_OFFSET_RESET] Some data may have been lost",
            "the topic was deleted and created again",
        ),
        (
            "Partition __consumer_offsets-0's offset was changed from 500 to 10, some data may have been missed",
            "delete the folder _checkpoints/bronze of the lake: the next run then reads",
        ),
        (
            "[FOREACH_BATCH_USER_FUNCTION_ERROR]\nkgtui.errors.SourceError: partition 3 has two\n\tat x",
            "^partition 3 has two$",
        ),
        ("\n  [X] what Spark says\n== Plan ==\n", r"Spark failed: \[X\] what Spark says$"),
    ],
)
def test_known_errors_of_spark_are_converted_to_short_messages_for_the_user(text: str, message: str) -> None:
    with pytest.raises(SourceError, match=message), translated_spark_errors():
        raise PySparkException(text)


def test_lost_connection_to_spark_is_reported_as_an_exited_jvm() -> None:
    with pytest.raises(SourceError, match="JVM has exited, because it was killed"), translated_spark_errors():
        raise ConnectionRefusedError
    assert "JVM has exited" in str(to_source_error(EOFError()))


def test_exceptions_that_do_not_come_from_spark_are_not_converted() -> None:
    with pytest.raises(KeyError), translated_spark_errors():
        raise KeyError


def test_kafka_errors_in_spark_are_recognized_by_their_java_class_name() -> None:
    message = known_message(
        "org.apache.kafka.common.errors.TopicAuthorizationException: Not authorized to access topics"
    )
    assert message is not None
    assert "Read and Describe" in message
    assert known_message("something else") is None
    java_timeout = "java.util.concurrent.TimeoutException: Futures timed out"
    assert known_message(java_timeout) is None, "this exception is not from Kafka"
