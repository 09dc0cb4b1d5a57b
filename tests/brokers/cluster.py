"""Run a real Kafka cluster on this machine, and create topics, records and groups for tests."""

from __future__ import annotations

import shutil
import time
from typing import TYPE_CHECKING, Any

from confluent_kafka import KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource
from confluent_kafka.cimpl import NewTopic

from tests import jars
from tests.brokers import kio_client
from tests.brokers.config import CLUSTER_ID, HOST, choose_ports, preview_features, server_properties, write_properties
from tests.brokers.process import Java
from tests.brokers.tools import run_tool

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from tests.brokers.tools import Result


START_TIMEOUT = 240.0
"""Maximum time until a broker responds after its start, in seconds. It is long, because the machine can be busy."""


class Cluster:
    """A cluster of brokers of one Kafka version, which runs from `start` to `stop`.

    Args:
        protocols: listener name → security protocol; None for one plaintext listener. The first listener must not
            require a login, because the methods connect to it.
        extra: additional properties of all brokers.
        format_arguments: additional arguments of `kafka-storage.sh format`.
        jvm: additional JVM options.

    Attributes:
        version: Kafka version, such as `4.3.1`.
        bootstrap: addresses of the first listener on all brokers, as `host:port,…`.
        nodes: broker processes; node id 1 comes first.
    """

    def __init__(
        self,
        version: str,
        folder: Path,
        *,
        nodes: int = 1,
        protocols: Mapping[str, str] | None = None,
        extra: Mapping[str, str] | None = None,
        format_arguments: Sequence[str] = (),
        jvm: Sequence[str] = (),
    ) -> None:
        self.version = version
        self.folder = folder
        self.nodes: list[Java] = []
        self._protocols = dict(protocols or {"PLAINTEXT": "PLAINTEXT"})
        self._ports = choose_ports(nodes, list(self._protocols))
        self._extra = dict(extra or {})
        self._format_arguments = list(format_arguments)
        self._jvm = jvm
        self.bootstrap = self.addresses(next(iter(self._protocols)))
        self._admin: AdminClient | None = None

    def addresses(self, listener: str) -> str:
        """Return the addresses of the listener `listener` on all brokers, as `host:port,…`."""
        return ",".join(f"{HOST}:{ports.listeners[listener]}" for ports in self._ports)

    def start(self) -> None:
        """Format the log directories, start the brokers, and wait until they respond.

        Raises `JavaFailedError` if a broker does not respond.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        try:
            self.nodes = [self._start_node(node) for node in range(1, len(self._ports) + 1)]
            self._wait_until_it_responds()
        except BaseException:
            self.stop()
            raise

    def restart(self, node: int) -> None:
        """Start broker `node` again with the same data and ports, and return before the broker responds.

        If the broker's previous process still runs, it is killed first.
        """
        self.nodes[node - 1].stop()
        config = str(self.folder / f"server-{node}.properties")
        log = self.folder / f"broker-{node}-restarted.log"
        self.nodes[node - 1] = Java(
            self.version, "Launch.java", ["kafka.Kafka", config], log, heap="512m", jvm=self._jvm
        )

    def stop(self) -> None:
        """Stop all brokers, and delete their data, but keep their configuration files and logs."""
        for process in self.nodes:
            process.stop()
        for data in self.folder.glob("data-*"):
            shutil.rmtree(data, ignore_errors=True)

    def tool(self, name: str, *arguments: str) -> Result:
        """Run one of Kafka's command line tools on this cluster. `name` is a key of `tools.MAIN_CLASSES`."""
        all_arguments = [*arguments]
        if "--bootstrap-server" not in all_arguments:
            all_arguments = ["--bootstrap-server", self.bootstrap, *all_arguments]
        return run_tool(jars.tools_version(self.version), name, all_arguments)

    @property
    def admin(self) -> AdminClient:
        """Admin client of librdkafka. Tests use it to prepare the cluster, for example to create topics."""
        if self._admin is None:
            self._admin = AdminClient(self.client_config())
        return self._admin

    def client_config(self, **more: Any) -> dict[str, Any]:
        """Return the configuration of a librdkafka client for this cluster.

        The client logs nothing to standard error. `more` are additional settings.
        """
        return {"bootstrap.servers": self.bootstrap, "log_level": 0, **more}

    def create_topic(self, name: str, partitions: int = 1, *, replicas: int = 1, **config: str) -> None:
        """Create a topic with the topic configs `config`, and wait until all partitions of the topic have leaders."""
        (created,) = self.admin.create_topics([NewTopic(name, partitions, replicas, config=config)]).values()
        created.result(30)
        deadline = time.monotonic() + 30
        while True:
            topic = self.admin.list_topics(name, timeout=10).topics[name]
            leaders = [p.leader for p in topic.partitions.values() if p.leader >= 0]
            if topic.error is None and len(leaders) == partitions:
                return
            if time.monotonic() > deadline:
                raise TimeoutError(f"the partitions of topic {name} have no leaders")

    def delete_topic(self, name: str) -> None:
        (deleted,) = self.admin.delete_topics([name]).values()
        deleted.result(30)

    def delete_records(self, topic: str, partition: int, before: int) -> None:
        """Delete the records with offsets lower than `before` from a partition."""
        (deleted,) = self.admin.delete_records([TopicPartition(topic, partition, before)]).values()
        deleted.result(30)

    def configure_group(self, group: str, config: Mapping[str, str]) -> None:
        """Set dynamic configs of a group, which does not have to exist yet."""
        changes = [ConfigEntry(k, v, incremental_operation=AlterConfigOpType.SET) for k, v in config.items()]
        resource = ConfigResource(ConfigResource.Type.GROUP, group, incremental_configs=changes)
        (altered,) = self.admin.incremental_alter_configs([resource]).values()
        altered.result(30)

    def produce(self, topic: str, records: int, partition: int = 0) -> None:
        """Append `records` records to one partition, and wait until the broker has acknowledged them."""
        producer = Producer(self.client_config())
        for number in range(records):
            producer.produce(topic, partition=partition, key=str(number), value=f"value {number}")
        if left := producer.flush(30):
            raise TimeoutError(f"{left} records of {topic}-{partition} were not acknowledged")

    def produce_at(self, topic: str, timestamps: Iterable[int], partition: int = 0) -> None:
        """Append one record per timestamp in the given order. Timestamps are milliseconds since the Unix epoch."""
        producer = Producer(self.client_config(**{"queue.buffering.max.messages": 10_000_000}))
        for timestamp in timestamps:
            producer.produce(topic, b"x", b"key", partition=partition, timestamp=timestamp)
        if left := producer.flush(60):
            raise TimeoutError(f"{left} records of {topic}-{partition} were not acknowledged")

    def commit(self, group: str, offsets: Mapping[tuple[str, int], int], metadata: str = "") -> None:
        """Commit offsets for a group without joining it. If the group does not exist, this creates a simple group."""
        kio_client.commit(self.bootstrap, group, offsets, metadata, timeout=30)

    def _start_node(self, node: int) -> Java:
        data = self.folder / f"data-{node}"
        properties = server_properties(self.version, node, self._ports, data, self._protocols, self._extra)
        config = str(write_properties(self.folder / f"server-{node}.properties", properties))
        program = ["kafka.tools.StorageTool", "format", "-t", CLUSTER_ID, "-c", config]
        program += [*preview_features(self.version), *self._format_arguments, "--then", "kafka.Kafka", config]
        log = self.folder / f"broker-{node}.log"
        return Java(self.version, "Launch.java", program, log, heap="512m", jvm=self._jvm)

    def _wait_until_it_responds(self) -> None:
        deadline = time.monotonic() + START_TIMEOUT
        while True:
            try:
                if len(self.admin.list_topics(timeout=2).brokers) == len(self.nodes):
                    return
            except KafkaException:
                pass
            for process in self.nodes:
                if not process.running or time.monotonic() > deadline:
                    raise process.failed("the broker does not respond")
