"""Create groups with typical problems on a real broker, for tests of how kgtui shows these problems.

| group | what is wrong |
|---|---|
| `payments.settle` | three members own the partitions of `payments`, but no longer commit offsets |
| `orders.enrich` | a second member joins and leaves again and again |
| `search.index` | a member of a KIP-848 group does not give up partitions that are now assigned to a second member |
| `reports.daily` | nothing: the group is catching up with a backlog |
| `audit.archive` | the oldest unread record will expire soon |
| `payroll.export` | an ACL forbids the user `oncall` to describe the group |
| `geo.lookup` | nothing: a test deletes this Empty group |
| `old-team-001` … | unused: no members, and unread records that are three days old |
"""

from __future__ import annotations

import threading
import time
from itertools import repeat
from typing import TYPE_CHECKING

from confluent_kafka import Consumer, KafkaException
from kio.schema.join_group.v3.request import JoinGroupRequest, JoinGroupRequestProtocol
from kio.schema.join_group.v3.response import JoinGroupResponse
from kio.schema.leave_group.v2.request import LeaveGroupRequest
from kio.schema.leave_group.v2.response import LeaveGroupResponse
from kio.schema.types import GroupId

from tests.brokers import kio_client
from tests.brokers.group_actions import delete_groups
from tests.brokers.members import CLASSIC, IDLE, KIP_848, Members
from tests.brokers.secure import FORBIDDEN

if TYPE_CHECKING:
    from tests.brokers.secure import Secure

STOPPED, FLAPPING, BLOCKED, DRAINING = "payments.settle", "orders.enrich", "search.index", "reports.daily"
EXPIRING, DELETED = "audit.archive", "geo.lookup"

PARTITIONS = 12
"""Number of partitions of the topic `payments`. Three members of the group `STOPPED` own these partitions."""

STOPPED_FOR, EXPIRES_IN, RETENTION = 1_500, 1_800, 7_200
"""Durations in seconds.

- `STOPPED_FOR`: age that the oldest unread record of the group `STOPPED` has when the topics are created
- `EXPIRES_IN`: time from the creation of the topics until the oldest unread record of the group `EXPIRING` expires
- `RETENTION`: retention time of the topic that the group `EXPIRING` consumes
"""

BACKLOG, DRAINED_PER_SECOND = 200_000, 200
"""Initial lag of the group `DRAINING`, and number of records by which this lag falls per second."""

TIMEOUT = 60.0
_STEP = 1.0  # Time between two commits of the group `DRAINING`, in seconds.


class TroubledGroups:
    """Groups with typical problems, which exist from `start` to `stop`. The module's docstring lists the groups.

    Args:
        unused: number of groups `old-team-…`.
    """

    def __init__(self, secure: Secure, unused: int) -> None:
        self.cluster = secure.cluster
        self.login = secure.command_config("oncall")
        self.bootstrap = secure.sasl
        self.unused = [f"old-team-{number:03d}" for number in range(1, unused + 1)]
        self._topics: list[str] = []
        self._members: dict[str, Members] = {}
        self._ending = threading.Event()
        self._threads: list[threading.Thread] = []

    def start(self) -> None:
        """Create topics and groups.

        Also start two threads. One repeatedly commits a higher offset for the group `DRAINING`. The other repeatedly
        lets a second member join and leave the group `FLAPPING`.
        """
        try:
            self._make_topics()
            self._make_empty_groups()
            self._make_live_groups()
            for work in (self._make_progress, self._flap):
                self._threads.append(threading.Thread(target=work, name=work.__name__))
                self._threads[-1].start()
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """Stop all members, and delete the groups and the topics."""
        self._ending.set()
        for thread in self._threads:
            thread.join(TIMEOUT)
        for members in self._members.values():
            members.leave()
        ours = {STOPPED, FLAPPING, BLOCKED, DRAINING, EXPIRING, FORBIDDEN, DELETED, *self.unused}
        existing = ours & kio_client.list_groups(self.cluster.bootstrap).keys()
        kio_client.wait_for_states(self.cluster.bootstrap, dict.fromkeys(existing, "Empty"), TIMEOUT)
        delete_groups(self.cluster, *existing)
        for topic in self._topics:
            self.cluster.delete_topic(topic)

    def delete_group(self) -> None:
        """Delete the group `DELETED`."""
        delete_groups(self.cluster, DELETED)

    def _make_topics(self) -> None:
        partitions = {"payments": PARTITIONS, "orders": 2, "documents": 4, "reports": 1, "attic": 1}
        for topic, count in partitions.items():
            self.cluster.create_topic(topic, count)
            self._topics.append(topic)
        self.cluster.create_topic("audit", 1, replicas=1, **{"retention.ms": str(RETENTION * 1000)})
        self._topics.append("audit")
        now = round(time.time())
        for partition in range(PARTITIONS):
            ages = range(2 * STOPPED_FOR, 0, -STOPPED_FOR // 50)
            self.cluster.produce_at("payments", [(now - age) * 1000 for age in ages], partition)
        expiring = range(now - RETENTION + EXPIRES_IN, now, 60)
        self.cluster.produce_at("audit", [at * 1000 for at in expiring])
        self.cluster.produce_at("reports", [now * 1000] * BACKLOG)
        self.cluster.produce_at("attic", [(now - 3 * 86_400 + number) * 1000 for number in range(20)])
        for topic in ("orders", "documents"):
            self.cluster.produce(topic, 20)

    def _make_empty_groups(self) -> None:
        """Create the Empty groups. In each of them, make a member join and leave, and commit an offset.

        Without the member, the groups would be simple groups.
        """
        bootstrap = self.cluster.bootstrap
        connection = kio_client.Connection(kio_client.find_coordinator(bootstrap, DELETED, TIMEOUT))
        subscription = b"\0\0" + b"\0\0\0\1" + b"\0\5attic" + b"\xff\xff\xff\xff"
        try:
            for group in (DELETED, FORBIDDEN, *self.unused):
                join = JoinGroupRequest(
                    group_id=GroupId(group), session_timeout=kio_client.LONG, rebalance_timeout=kio_client.LONG,
                    member_id="", protocol_type="consumer",
                    protocols=(JoinGroupRequestProtocol(name="range", metadata=subscription),),
                )  # fmt: skip
                joined = connection.call(join, JoinGroupResponse)
                leave = LeaveGroupRequest(group_id=GroupId(group), member_id=joined.member_id)
                left = connection.call(leave, LeaveGroupResponse)
                if int(joined.error_code) or int(left.error_code):
                    raise ConnectionError(f"{group}: {joined} {left}")
                kio_client.commit_on(connection, group, {("attic", 0): 13}, "", TIMEOUT)
        finally:
            connection.close()

    def _make_live_groups(self) -> None:
        self._members = {
            STOPPED: Members(self.cluster, STOPPED, "payments", CLASSIC, CLASSIC, CLASSIC),
            BLOCKED: Members(self.cluster, BLOCKED, "documents", KIP_848),
            DRAINING: Members(self.cluster, DRAINING, "reports", CLASSIC),
            EXPIRING: Members(self.cluster, EXPIRING, "audit", CLASSIC),
        }
        for members in self._members.values():
            members.wait_until_assigned(TIMEOUT)
        self._members[STOPPED].commit(dict.fromkeys(range(PARTITIONS), 50))
        self._members[BLOCKED].commit({0: 20})
        self._members[DRAINING].commit({0: 0})
        self._members[EXPIRING].commit({0: 0})
        # The first member of the group `BLOCKED` is never polled, so it does not revoke the partitions that are now
        # assigned to the second member.
        self._members[f"{BLOCKED} 2"] = Members(
            self.cluster, BLOCKED, "documents", {**KIP_848, "client.id": f"{BLOCKED}-2"}
        )

    def _make_progress(self) -> None:
        """Repeatedly commit a higher offset for the group `DRAINING`, and increase the lag of the group `STOPPED`."""
        for step in range(1, BACKLOG):
            if self._ending.wait(_STEP):
                return
            self._members[DRAINING].commit({0: min(step * DRAINED_PER_SECOND, BACKLOG)})
            self.cluster.produce_at("payments", [round(time.time() * 1000)], 7)

    def _flap(self) -> None:
        """Repeatedly make a second member join `FLAPPING` and leave again, until `stop` is called."""
        config = {"group.id": FLAPPING, **IDLE, **CLASSIC}
        first = Consumer(self.cluster.client_config(**config, **{"client.id": f"{FLAPPING}-1"}))
        first.subscribe(["orders"])
        try:
            for _ in repeat(None):
                second = Consumer(self.cluster.client_config(**config, **{"client.id": f"{FLAPPING}-2"}))
                second.subscribe(["orders"])
                try:
                    while not second.assignment() and not self._ending.is_set():
                        first.poll(0.1)
                        second.poll(0.1)
                finally:
                    second.close()
                for _ in range(20):
                    first.poll(0.1)
                    if self._ending.is_set():
                        return
        except KafkaException:
            if not self._ending.is_set():
                raise
        finally:
            first.close()
