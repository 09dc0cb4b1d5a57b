"""Streams groups: the broker assigns the tasks of a topology (KIP-1071, StreamsGroupDescribe)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from kgtui.simulator.facts import uuid_of
from kgtui.simulator.groups.base import Group, Pace

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kgtui.simulator.groups.base import Client, Reads
    from kgtui.simulator.life import Life, Moment, Slot

Tasks = dict[str, list[int]]


@dataclass(frozen=True, slots=True)
class Part:
    """A subtopology: topics that are worked on together, one task for each partition.

    Attributes:
        sources: topics it reads that are not its own.
        tasks: number of tasks.
        repartition: internal topics that it reads.
        sinks: internal topics that it writes for others to read.
        changelogs: internal topics that back its stores up; without any it is stateless and has no standbys.
    """

    sources: tuple[str, ...]
    tasks: int
    repartition: tuple[str, ...] = ()
    sinks: tuple[str, ...] = ()
    changelogs: tuple[str, ...] = ()


class StreamsGroup(Group):
    """A group that runs a topology: members are threads, two of each process.

    Attributes:
        topology: its subtopologies, by number.
        standbys: standby tasks for each stateful task.
        warming: seconds that a moved stateful task warms up before it becomes active.
        endpoint: whether processes tell where they answer interactive queries.
    """

    type: ClassVar[str] = "streams"
    standard_pace: ClassVar[Pace] = (("Assigning", 1.0), ("Reconciling", 7.0))

    def __init__(
        self,
        name: str,
        life: Life,
        reads: Sequence[Reads] = (),
        *,
        topology: Sequence[Part] = (),
        standbys: int = 0,
        warming: float = 40.0,
        endpoint: bool = True,
        client: Client | None = None,
        pace: Pace | None = None,
        epoch: int = 7,
        seed: int = 1,
    ) -> None:
        super().__init__(name, life, reads, protocol="streams", client=client, pace=pace, epoch=epoch, seed=seed)
        self.topology = tuple(topology)
        self.standbys = standbys
        self.warming = warming
        self.endpoint = endpoint

    def member_id(self, slot: Slot) -> str:
        """Made up by the thread itself."""
        return self.kafka_member_id(slot)

    def client_id(self, slot: Slot) -> str:
        """As the Streams library names the consumer of a thread."""
        process = uuid_of(self.seed, self.name, "process", slot.number // 2)
        return f"{self.name[:200]}-{process}-StreamThread-{slot.number % 2 + 1}-consumer"

    def describe(self, t: float, *, operations: int) -> dict[str, Any]:
        """As in StreamsGroupDescribe."""
        moment = self.moment(t)
        state = self.state_at(moment)
        epoch = self.epoch + moment.change
        return {
            "GroupId": self.name,
            "GroupState": state,
            "GroupEpoch": epoch,
            "AssignmentEpoch": epoch - 1 if state in ("NotReady", "Assigning") else epoch,
            "Topology": {"Epoch": 2, "Subtopologies": [self._part(i, part) for i, part in enumerate(self.topology)]},
            "Members": [self._member(slot, moment, state, epoch, index, t) for index, slot in enumerate(moment.slots)],
            "AuthorizedOperations": operations,
        }

    def _part(self, number: int, part: Part) -> dict[str, Any]:
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

    def _member(self, slot: Slot, moment: Moment, state: str, epoch: int, index: int, t: float) -> dict[str, Any]:
        arrived = state == "Stable" or (state == "Reconciling" and index % 2 == 0)
        if state == "NotReady":
            target = before = self._as_message({}, {}, {})
        else:
            target = self._roles(moment, index, warmups=moment.since < self.warming)
            before = self._before(slot, moment)
        process = slot.number // 2
        standby = target["StandbyTasks"] + target["WarmupTasks"]
        return {
            "MemberId": self.member_id(slot),
            "MemberEpoch": epoch if arrived else epoch - 1 if slot in moment.before else 0,
            "InstanceId": self.instance_id(slot),
            "RackId": self.rack(slot),
            "ClientId": self.client_id(slot),
            "ClientHost": self.host(slot),
            "TopologyEpoch": 2,
            "ProcessId": str(uuid_of(self.seed, self.name, "process", process)),
            "UserEndpoint": {"Host": f"{self.client.name}-{process}.streams.svc", "Port": 7070}
            if self.endpoint
            else None,
            "ClientTags": [{"Key": "zone", "Value": rack}] if (rack := self.rack(slot)) else [],
            "TaskOffsets": self._offsets(standby, t, behind=int(max(0.0, self.warming - moment.since) * 50)),
            "TaskEndOffsets": self._offsets(standby, t, behind=0),
            "Assignment": target if arrived else before,
            "TargetAssignment": before if state == "Assigning" else target,
            "IsClassic": False,
        }

    def _before(self, slot: Slot, moment: Moment) -> dict[str, Any]:
        if slot not in moment.before:
            return self._as_message({}, {}, {})
        return self._roles_of(len(moment.before), moment.before.index(slot), {})

    def _roles(self, moment: Moment, index: int, *, warmups: bool) -> dict[str, Any]:
        warm: Tasks = {}
        if warmups and moment.before != moment.slots:
            stateful = [i for i, part in enumerate(self.topology) if part.changelogs]
            for number in stateful:
                tasks = self.topology[number].tasks
                warm[str(number)] = [p for p in range(tasks) if (p + 2) % len(moment.slots) == index][:1]
        return self._roles_of(len(moment.slots), index, warm)

    def _roles_of(self, members: int, index: int, warm: Tasks) -> dict[str, Any]:
        active: Tasks = {}
        standby: Tasks = {}
        for number, part in enumerate(self.topology):
            active[str(number)] = [p for p in range(part.tasks) if p % members == index]
            if part.changelogs:
                copies = range(1, min(self.standbys, members - 1) + 1)
                standby[str(number)] = [p for p in range(part.tasks) if index in {(p + c) % members for c in copies}]
        spare = {
            key: [p for p in tasks if p not in standby.get(key, ()) and p not in active[key]]
            for key, tasks in warm.items()
        }
        return self._as_message(active, standby, spare)

    def _as_message(self, active: Tasks, standby: Tasks, warmup: Tasks) -> dict[str, Any]:
        return {
            role: [{"SubtopologyId": key, "Partitions": tasks} for key, tasks in sorted(given.items()) if tasks]
            for role, given in (("ActiveTasks", active), ("StandbyTasks", standby), ("WarmupTasks", warmup))
        }

    def _offsets(self, tasks: list[dict[str, Any]], t: float, *, behind: int) -> list[dict[str, Any]]:
        """How far the stores of standby and warm-up tasks have been restored."""
        return [
            {"SubtopologyId": row["SubtopologyId"], "Partition": p, "Offset": max(0, 40_000 + int(t) * 3 - behind)}
            for row in tasks
            for p in row["Partitions"]
        ]
