"""Streams groups, in which the broker assigns the tasks (KIP-1071, StreamsGroupDescribe)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from msgspec import Struct

from kgtui.simulator.groups.base import Group, GroupKeys, Phases
from kgtui.simulator.hashing import hash_uuid

if TYPE_CHECKING:
    from kgtui.simulator.membership import Membership, Slot

Tasks = dict[str, list[int]]
"""Tasks as a dict: subtopology id → partitions. There is one task per partition of a subtopology."""


class Subtopology(Struct, frozen=True, forbid_unknown_fields=True):
    """A subtopology of a streams group.

    Attributes:
        sources: source topics, without internal topics.
        repartition: internal topics that the subtopology reads.
        sinks: internal topics that the subtopology writes.
        tasks: number of tasks.
        changelogs: changelog topics; empty if the subtopology is stateless.
    """

    sources: tuple[str, ...]
    tasks: int
    repartition: tuple[str, ...] = ()
    sinks: tuple[str, ...] = ()
    changelogs: tuple[str, ...] = ()


class StreamsKeys(GroupKeys, tag="streams", frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The properties of a streams group in scenario files.

    Attributes:
        topology: the subtopologies. The id of a subtopology is its index in this tuple.
        standbys: number of standby tasks per stateful task.
        warming: how long warm-up tasks exist after a change of members, in seconds.
        endpoint: whether processes report an endpoint for interactive queries.
    """

    topology: tuple[Subtopology, ...] = ()
    standbys: int = 0
    warming: float = 40.0
    endpoint: bool = True


class StreamsGroup(Group):
    """A group that runs a Kafka Streams topology. Each member is a stream thread, and each process runs two threads."""

    type: ClassVar[str] = "streams"
    default_phases: ClassVar[Phases] = (("Assigning", 1.0), ("Reconciling", 7.0))
    keys_class = StreamsKeys
    keys: StreamsKeys

    def member_id(self, slot: Slot) -> str:
        return self.kafka_member_id(slot)

    def client_id(self, slot: Slot) -> str:
        """Return the client id, which contains the id of the process and the number of the thread."""
        process = hash_uuid(self.seed, self.name, "process", slot.number // 2)
        return f"{self.name[:200]}-{process}-StreamThread-{slot.number % 2 + 1}-consumer"

    def describe(self, t: float, *, operations: int) -> dict[str, Any]:
        membership = self.membership(t)
        state = self.state_with(membership)
        epoch = self.epoch + membership.change
        return {
            "GroupId": self.name,
            "GroupState": state,
            "GroupEpoch": epoch,
            "AssignmentEpoch": epoch - 1 if state in ("NotReady", "Assigning") else epoch,
            "Topology": {
                "Epoch": 2,
                "Subtopologies": [self._subtopology(i, part) for i, part in enumerate(self.keys.topology)],
            },
            "Members": [
                self._member(slot, membership, state, epoch, index, t) for index, slot in enumerate(membership.slots)
            ],
            "AuthorizedOperations": operations,
        }

    def _subtopology(self, number: int, part: Subtopology) -> dict[str, Any]:
        compact = [{"Key": "cleanup.policy", "Value": "compact"}]
        return {
            "SubtopologyId": str(number),
            "SourceTopics": list(part.sources),
            "RepartitionSinkTopics": list(part.sinks),
            "StateChangelogTopics": [
                {"Name": name, "Partitions": 0, "ReplicationFactor": -1, "TopicConfigs": compact}
                for name in part.changelogs
            ],
            "RepartitionSourceTopics": [
                {"Name": name, "Partitions": part.tasks, "ReplicationFactor": -1, "TopicConfigs": []}
                for name in part.repartition
            ],
        }

    def _member(
        self, slot: Slot, membership: Membership, state: str, epoch: int, index: int, t: float
    ) -> dict[str, Any]:
        reconciled = state == "Stable" or (state == "Reconciling" and index % 2 == 0)
        if state == "NotReady":
            target = before = self._as_message({}, {}, {})
        else:
            target = self._roles(membership, index, warmups=membership.since < self.keys.warming)
            before = self._before(slot, membership)
        process = slot.number // 2
        standby = target["StandbyTasks"] + target["WarmupTasks"]
        return {
            "MemberId": self.member_id(slot),
            "MemberEpoch": epoch if reconciled else epoch - 1 if slot in membership.before else 0,
            "InstanceId": self.instance_id(slot),
            "RackId": self.rack(slot),
            "ClientId": self.client_id(slot),
            "ClientHost": self.host(slot),
            "TopologyEpoch": 2,
            "ProcessId": str(hash_uuid(self.seed, self.name, "process", process)),
            "UserEndpoint": {"Host": f"{self.client.name}-{process}.streams.svc", "Port": 7070}
            if self.keys.endpoint
            else None,
            "ClientTags": [{"Key": "zone", "Value": rack}] if (rack := self.rack(slot)) else [],
            "TaskOffsets": self._offsets(standby, t, behind=int(max(0.0, self.keys.warming - membership.since) * 50)),
            "TaskEndOffsets": self._offsets(standby, t, behind=0),
            "Assignment": target if reconciled else before,
            "TargetAssignment": before if state == "Assigning" else target,
            "IsClassic": False,
        }

    def _before(self, slot: Slot, membership: Membership) -> dict[str, Any]:
        if slot not in membership.before:
            return self._as_message({}, {}, {})
        return self._roles_of(len(membership.before), membership.before.index(slot), {})

    def _roles(self, membership: Membership, index: int, *, warmups: bool) -> dict[str, Any]:
        warm: Tasks = {}
        if warmups and membership.before != membership.slots:
            stateful = [i for i, part in enumerate(self.keys.topology) if part.changelogs]
            for number in stateful:
                tasks = self.keys.topology[number].tasks
                warm[str(number)] = [p for p in range(tasks) if (p + 2) % len(membership.slots) == index][:1]
        return self._roles_of(len(membership.slots), index, warm)

    def _roles_of(self, members: int, index: int, warm: Tasks) -> dict[str, Any]:
        active: Tasks = {}
        standby: Tasks = {}
        for number, part in enumerate(self.keys.topology):
            active[str(number)] = [p for p in range(part.tasks) if p % members == index]
            if part.changelogs:
                copies = range(1, min(self.keys.standbys, members - 1) + 1)
                standby[str(number)] = [p for p in range(part.tasks) if index in {(p + c) % members for c in copies}]
        spare = {
            key: [p for p in tasks if p not in standby.get(key, ()) and p not in active[key]]
            for key, tasks in warm.items()
        }
        return self._as_message(active, standby, spare)

    def _as_message(self, active: Tasks, standby: Tasks, warmup: Tasks) -> dict[str, Any]:
        return {
            role: [
                {"SubtopologyId": key, "Partitions": tasks} for key, tasks in sorted(by_subtopology.items()) if tasks
            ]
            for role, by_subtopology in (("ActiveTasks", active), ("StandbyTasks", standby), ("WarmupTasks", warmup))
        }

    def _offsets(self, tasks: list[dict[str, Any]], t: float, *, behind: int) -> list[dict[str, Any]]:
        """Return one response row per task, with the changelog offset up to which the task has restored its state.

        Args:
            behind: number of changelog records that each task has not restored yet. With 0, the result contains the
                log end offsets of the changelog partitions.
        """
        return [
            {"SubtopologyId": row["SubtopologyId"], "Partition": p, "Offset": max(0, 40_000 + int(t) * 3 - behind)}
            for row in tasks
            for p in row["Partitions"]
        ]
