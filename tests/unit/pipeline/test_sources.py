"""Tests of `sources`: the options of Spark's Kafka source, and the check that Spark has read all partitions."""

from __future__ import annotations

import pytest

from kgtui.errors import SourceError
from kgtui.pipeline.sources import OffsetsTopic, check_read_complete, security_options


def test_only_login_and_tls_properties_of_the_kafka_client_are_passed_to_spark() -> None:
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


def test_error_is_raised_if_spark_reads_no_records_or_not_all_partitions() -> None:
    topic = OffsetsTopic(("a:1",), {0: (0, 5), 1: (3, 9), 2: (0, 0)})
    check_read_complete(topic, {0: 5, 1: 9}, 8)
    with pytest.raises(SourceError, match=r"contains up to 11 records.*did not read partitions 0, 1"):
        check_read_complete(topic, {}, 0)
    with pytest.raises(SourceError, match=r"did not read partition 1\."):
        check_read_complete(topic, {0: 5}, 5)
    with pytest.raises(SourceError, match="returned no records"):
        check_read_complete(topic, {0: 5, 1: 9}, 0)
    check_read_complete(OffsetsTopic(("a:1",), {0: (0, 0)}), {}, 0)
    check_read_complete(topic, {0: 5, 1: 9}, None)
    with pytest.raises(SourceError, match=r"did not read partition 1\."):
        check_read_complete(topic, {0: 5}, None)
