"""Options of Spark's Kafka source, and what its answers are held against."""

from __future__ import annotations

import pytest

from kgtui.errors import SourceError
from kgtui.pipeline.jobs.run import end_offsets
from kgtui.pipeline.sources import OffsetsTopic, check_read_complete, security_options
from kgtui.pipeline.spark_errors import known_message


def test_only_what_says_how_to_log_in_is_handed_on() -> None:
    properties = {
        "security.protocol": "SASL_SSL",
        "sasl.jaas.config": 'x required password="S3cret";',
        "ssl.truststore.location": "/etc/ca.pem",
        "group.id": "me",
        "enable.auto.commit": "true",
        "key.deserializer": "x.Y",
        "bootstrap.servers": "elsewhere:9092",
    }
    assert security_options(properties) == {
        "kafka.security.protocol": "SASL_SSL",
        "kafka.sasl.jaas.config": 'x required password="S3cret";',
        "kafka.ssl.truststore.location": "/etc/ca.pem",
    }
    assert "S3cret" not in repr(OffsetsTopic(("a:1",), {0: (0, 1)}, properties))


def test_a_read_that_saw_too_little_is_an_error() -> None:
    topic = OffsetsTopic(("a:1",), {0: (0, 5), 1: (3, 9), 2: (0, 0)})
    check_read_complete(topic, {0: 5, 1: 9}, 8)
    with pytest.raises(SourceError, match=r"contains up to 11 records.*did not see its partitions 0, 1"):
        check_read_complete(topic, {}, 0)
    with pytest.raises(SourceError, match=r"did not see its partitions 1\."):
        check_read_complete(topic, {0: 5}, 5)
    with pytest.raises(SourceError, match="did not see any record"):
        check_read_complete(topic, {0: 5, 1: 9}, 0)
    check_read_complete(OffsetsTopic(("a:1",), {0: (0, 0)}), {}, 0)
    check_read_complete(topic, {0: 5, 1: 9}, None)
    with pytest.raises(SourceError, match=r"did not see its partitions 1\."):
        check_read_complete(topic, {0: 5}, None)


def test_how_far_a_stream_has_read() -> None:
    assert end_offsets(None) is None
    assert end_offsets({"sources": [{"endOffset": None}]}) is None
    assert end_offsets({"sources": [{"endOffset": '{"__consumer_offsets":{"0":5,"12":7}}'}]}) == {0: 5, 12: 7}
    assert end_offsets({"sources": [{"endOffset": {"__consumer_offsets": {"3": 1}}}]}) == {3: 1}


def test_errors_of_kafka_are_explained() -> None:
    told = known_message(
        "… org.apache.kafka.common.errors.TopicAuthorizationException: Not authorized to access topics"
    )
    assert told is not None
    assert "Read and Describe" in told
    assert known_message("something else") is None
    assert known_message("java.util.concurrent.TimeoutException: Futures timed out") is None, "that is not Kafka's"
