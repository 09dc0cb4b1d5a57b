"""Run live groups: groups of every type on a real broker, with and without members.

Their members and offsets do not change during the tests.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from tests import jars
from tests.brokers import kio_client
from tests.brokers.connect import Worker
from tests.brokers.groups import ORDERS, LiveGroup, expected, group_types
from tests.brokers.members import CLASSIC, KIP_848, Members
from tests.brokers.process import Java
from tests.brokers.registry import Registry, join_registries

if TYPE_CHECKING:
    from tests.brokers.cluster import Cluster
    from tests.brokers.members import Config

__all__ = ["Live", "LiveGroup", "expected"]

TIMEOUT = 240.0
"""Maximum time until all live groups of a broker have their expected states, in seconds.

It is long, because the machine can be busy.
"""


class Live:
    """The live groups in one cluster: test groups whose members and offsets do not change during the tests.

    `live["classic"]` is the group with the role `classic`.

    Attributes:
        types: group types that the tests can create on the brokers.
        groups: role (name in the tests, such as `classic`) → group.
        registries: simulated schema registries, which are the members of the group with the role `sr`.
    """

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.types = group_types(cluster.version)
        self.groups = expected(cluster.version)
        self.worker = Worker(cluster)
        self.registries: list[Registry] = []
        self._members: list[Members] = []
        self._java: Java | None = None
        self._programs = itertools.count(1)

    @property
    def bootstrap(self) -> str:
        """Address of the broker as `host:port`."""
        return self.cluster.bootstrap

    @property
    def version(self) -> str:
        """Kafka version of the broker."""
        return self.cluster.version

    def run_java(self, program: str, *arguments: str) -> Java:
        """Start a program of `tests/kafka` that joins or creates groups on this broker."""
        number = next(self._programs)
        log = self.cluster.folder / f"{program}-{number}.log"
        return Java(jars.clients_version(self.version), program, [self.bootstrap, *arguments], log)

    def __getitem__(self, role: str) -> LiveGroup:
        return self.groups[role]

    def of_type(self, group_type: str) -> list[LiveGroup]:
        return [group for group in self.groups.values() if group.type == group_type]

    def start(self) -> None:
        """Create topics and groups, and wait until every group has its expected members and state.

        Raises:
            JavaFailedError: the Java clients failed.
            TimeoutError: a group does not have the expected members and state after `TIMEOUT` seconds.
        """
        try:
            self._make_topics()
            java, said_when_ready = self._start_java()
            self._make_simple_groups()
            self._make_consumer_groups()
            self.registries = join_registries(
                self.bootstrap, self["sr"].id, [("registry-1.example", 8081), ("registry-2.example", 8081)], TIMEOUT
            )
            self.worker.wait_until_running(TIMEOUT, java)
            for line in said_when_ready:
                java.wait_for(line, TIMEOUT)
            kio_client.wait_for_states(self.bootstrap, {g.id: g.state for g in self.groups.values()}, TIMEOUT)
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """Stop the clients that are members of the live groups."""
        for members in self._members:
            members.leave()
        for member in self.registries:
            member.close()
        if self._java is not None:
            self._java.stop()

    def _make_topics(self) -> None:
        topics = {"orders": 3, "connect-lines": 1, "retired": 1, "trimmed": 1}
        if "share" in self.types:
            topics |= {"jobs": 2, "idle-jobs": 2}
        if "streams" in self.types:
            topics |= {"words": 2, "stopped-words": 2}
        for name, partitions in topics.items():
            self.cluster.create_topic(name, partitions)
        for (topic, partition), end in (ORDERS | {("retired", 0): 10, ("trimmed", 0): 100}).items():
            self.cluster.produce(topic, end, partition)
        self.cluster.delete_records("trimmed", 0, before=50)

    def _start_java(self) -> tuple[Java, list[str]]:
        if self._librdkafka_joins_kip_848:
            program, arguments = "LiveGroups.java", sorted(self.types & {"share", "streams"})
            names = arguments
        else:
            roles = {"consumer": "consumer,consumer=80", "mixed": "consumer,classic=70"}
            roles["consumer-empty"] = "consumer=100=leave"
            program, names = "ConsumerGroups.java", [self[role].id for role in roles]
            arguments = ["orders", *(f"{self[role].id}={rest}" for role, rest in roles.items())]
        self._java = self.run_java(program, str(self.worker.properties), *arguments)
        return self._java, [f"READY {name}" for name in names]

    @property
    def _librdkafka_joins_kip_848(self) -> bool:
        """Whether librdkafka can join KIP-848 groups on this broker. If not, Java consumers join these groups."""
        return not self.version.startswith("3.")

    def _make_simple_groups(self) -> None:
        for role, group in self.groups.items():
            if group.protocol == "" and role != "deleted-topic":
                self.cluster.commit(group.id, group.committed)
        orphan = self["deleted-topic"]
        self.cluster.commit(orphan.id, {("retired", 0): 5, **orphan.committed})
        self.cluster.delete_topic("retired")

    def _make_consumer_groups(self) -> None:
        joining: dict[str, tuple[Config, ...]] = {
            "classic": (CLASSIC, CLASSIC),
            "static": tuple({**CLASSIC, "group.instance.id": name} for name in self["static"].instance_ids),
            "partial": (CLASSIC,),
            "empty": (CLASSIC,),
            "empty-lag": (CLASSIC,),
        }
        if self._librdkafka_joins_kip_848:
            joining |= {"consumer": (KIP_848, KIP_848), "consumer-empty": (KIP_848,), "mixed": (KIP_848, CLASSIC)}
        joined: dict[str, Members] = {}
        for role, configs in joining.items():
            if self[role].type == "consumer":
                self.cluster.configure_group(self[role].id, {"consumer.heartbeat.interval.ms": "500"})
            joined[role] = Members(self.cluster, self[role].id, "orders", *configs)
            self._members.append(joined[role])
        for role, members in joined.items():
            members.wait_until_assigned(TIMEOUT)
            members.commit({partition: offset for (_, partition), offset in self[role].committed.items()})
            if self[role].state == "Empty":
                self._members.remove(members)
                members.leave()
