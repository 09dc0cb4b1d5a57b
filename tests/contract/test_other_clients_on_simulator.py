"""Tests that the admin clients of librdkafka and kafka-python can list, describe and delete simulated groups."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from confluent_kafka import ConsumerGroupTopicPartitions, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, ConfigResource, OffsetSpec

from kgtui.simulator import Options, SimulatorProcess, spawn

if TYPE_CHECKING:
    from collections.abc import Iterator

SECONDS = 20


@pytest.fixture(params=["2.4", "3.9", "4.4"])
def cluster(request: pytest.FixtureRequest) -> Iterator[SimulatorProcess]:
    with spawn(Options(kafka_version=request.param)) as simulator:
        yield simulator


def test_librdkafka_lists_describes_and_deletes_groups(cluster: SimulatorProcess) -> None:
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap, "log_level": 0})
    metadata = admin.list_topics(timeout=SECONDS)
    assert (len(metadata.brokers), metadata.cluster_id) == (3, cluster.ready["cluster_id"])
    listed = admin.list_consumer_groups(request_timeout=SECONDS).result()
    assert listed.errors == []
    assert {"payments.settle", "[/red]", "two\nlines"} <= {row.group_id for row in listed.valid}
    described = admin.describe_consumer_groups(["payments.settle"], request_timeout=SECONDS)["payments.settle"].result()
    assert described.state.name == "STABLE"
    assert sorted(len(member.assignment.topic_partitions) for member in described.members) == [3, 3, 3, 3]
    requested = [ConsumerGroupTopicPartitions("payments.settle")]
    (offsets,) = (future.result() for future in admin.list_consumer_group_offsets(requested).values())
    assert len(offsets.topic_partitions) == 12
    assert all(row.offset > 0 for row in offsets.topic_partitions)
    ends = admin.list_offsets({TopicPartition("payments.authorised", 0): OffsetSpec.latest()})  # type: ignore[no-untyped-call]
    (end,) = (future.result().offset for future in ends.values())
    assert end >= next(row.offset for row in offsets.topic_partitions if row.partition == 0)
    configs = admin.describe_configs([ConfigResource(ConfigResource.Type.TOPIC, "orders.placed")])
    (config,) = (future.result() for future in configs.values())
    assert config["cleanup.policy"].value == "delete"
    deleted = admin.delete_consumer_groups(["[/red]", "payments.settle"], request_timeout=SECONDS)
    assert deleted["[/red]"].result() is None
    with pytest.raises(KafkaException, match="NON_EMPTY_GROUP"):
        deleted["payments.settle"].result()


@pytest.mark.filterwarnings("ignore:.*_text is deprecated:DeprecationWarning")
def test_kafka_python_lists_describes_and_deletes_groups(cluster: SimulatorProcess) -> None:
    # This import is not at the top of the file, because it raises deprecation warnings that only this test ignores.
    from kafka.admin import KafkaAdminClient

    admin = KafkaAdminClient(bootstrap_servers=cluster.bootstrap.split(","))
    try:
        listed = {row["group_id"] for row in admin.list_groups()}
        assert {"orders.pick", "connect-cluster", "schema-registry"} <= listed
        described = admin.describe_groups(["orders.pick"])["orders.pick"]
        assert (described["group_state"], len(described["members"])) == ("Stable", 3)
        offsets = admin.list_group_offsets(["orders.pick"])["orders.pick"]
        assert len(offsets) == 12
        assert admin.delete_groups(["a[b]c"]) == {"a[b]c": "OK"}
        assert "a[b]c" not in {row["group_id"] for row in admin.list_groups()}
    finally:
        admin.close()
