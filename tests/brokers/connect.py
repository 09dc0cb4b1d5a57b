"""Configure a Kafka Connect worker with one connector. The worker's group has the protocol type `connect`."""

from __future__ import annotations

import json
import time
import urllib.error
import urllib.request
from typing import TYPE_CHECKING, Any

from tests.brokers.config import HOST, free_ports, write_properties

if TYPE_CHECKING:
    from tests.brokers.cluster import Cluster
    from tests.brokers.process import Java

CONNECTOR = "file-source"


class Worker:
    """A Connect worker in distributed mode. The caller must start the worker's JVM.

    Attributes:
        properties: path of the worker's configuration file, which the caller passes to the JVM.
        url: URL of the worker's REST API. The worker also sends this URL to its group as member metadata.
    """

    def __init__(self, cluster: Cluster, group: str = "connect-cluster") -> None:
        (port,) = free_ports(1)
        self.url = f"http://{HOST}:{port}/"
        self.lines = cluster.folder / "lines.txt"
        converter = "org.apache.kafka.connect.storage.StringConverter"
        storage = {
            f"{what}.storage.{key}": value
            for what in ("config", "offset", "status")
            for key, value in (("topic", f"connect-{what}s"), ("replication.factor", "1"))
        }
        cluster.folder.mkdir(parents=True, exist_ok=True)
        self.properties = write_properties(
            cluster.folder / "worker.properties",
            {
                "bootstrap.servers": cluster.bootstrap,
                "group.id": group,
                "listeners": self.url.rstrip("/"),
                "rest.advertised.host.name": HOST,
                "rest.advertised.port": str(port),
                "plugin.discovery": "service_load",
                "key.converter": converter,
                "value.converter": converter,
                "offset.storage.partitions": "1",
                "status.storage.partitions": "1",
                "scheduled.rebalance.max.delay.ms": "0",
                **storage,
            },
        )

    def wait_until_running(self, timeout: float, java: Java) -> None:
        """Create the connector when the worker responds, and wait until its task runs.

        Raises `JavaFailedError` if the process `java` ends, or if the task does not run after `timeout` seconds.
        """
        self.lines.write_text("one\ntwo\nthree\n", encoding="utf-8")
        config = {
            "connector.class": "org.apache.kafka.connect.file.FileStreamSourceConnector",
            "tasks.max": "1",
            "file": str(self.lines),
            "topic": "connect-lines",
        }
        deadline = time.monotonic() + timeout
        created = False
        answer: Any = None
        while java.running and time.monotonic() < deadline:
            try:
                if not created:
                    self._ask("PUT", f"connectors/{CONNECTOR}/config", config)
                    created = True
                answer = self._ask("GET", f"connectors/{CONNECTOR}/status")
                if [task["state"] for task in answer["tasks"]] == ["RUNNING"]:
                    return
            # While the worker starts, it refuses connections. While its group rebalances, it returns HTTP errors.
            # In both cases, urllib raises an OSError.
            except OSError as error:
                answer = error
            time.sleep(0.1)
        raise java.failed(f"the connector does not run: {answer}")

    def _ask(self, method: str, path: str, body: Any = None) -> Any:
        request = urllib.request.Request(  # noqa: S310 - the tests started this worker
            self.url + path,
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=30) as response:  # noqa: S310
            return json.load(response)
