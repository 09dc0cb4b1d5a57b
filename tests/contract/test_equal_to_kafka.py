"""What we tell of live groups equals what Kafka's own tools print of them on the same broker."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.request import urlopen

import pytest

from kgtui.admin import connect
from kgtui.admin.deadline import Deadline
from kgtui.admin.reading import read_in_full
from kgtui.cli import main
from kgtui.model.group import Listing
from kgtui.model.offsets import lags
from tests.brokers.process import Java
from tests.contract import as_kafka_prints
from tests.contract.kafka_tools import rows, run_tools

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from kgtui.admin.reading import GroupsRead
    from kgtui.model.cluster import ClusterInfo
    from tests.brokers.cluster import Cluster
    from tests.brokers.live import Live
    from tests.contract.as_kafka_prints import Prints
    from tests.contract.kafka_tools import Row

ALL = ("--describe", "--all-groups")
LISTS = (("ConsumerGroupCommand", "--list", "--state", "--type"),)
OFFSETS = (("ConsumerGroupCommand", *ALL, "--offsets"), ("ConsumerGroupCommand", *ALL, "--offsets", "--verbose"))
MEMBERS = (("ConsumerGroupCommand", *ALL, "--members"), ("ConsumerGroupCommand", *ALL, "--members", "--verbose"))
STATES = (("ConsumerGroupCommand", *ALL, "--state"), ("ConsumerGroupCommand", *ALL, "--state", "--verbose"))
NEWER = ("ShareGroupCommand", "StreamsGroupCommand")
AHEAD = "ahead-of-the-log"


@dataclass(slots=True)
class Told:
    """The same broker, told of by Kafka's tools and by us.

    Attributes:
        tables: what Kafka's tools printed, by command line without the broker.
        listed: our list, by group.
        ours: our rows, as the tools would print them.
    """

    live: Live
    listed: dict[str, Listing]
    read: GroupsRead
    ours: Prints
    tables: dict[tuple[str, ...], list[Row]] = field(default_factory=dict)

    def theirs(self, commands: tuple[tuple[str, ...], ...]) -> list[tuple[str, list[Row]]]:
        """Command line → its rows, of each that this broker's version has."""
        return [(" ".join(words), self.tables[words]) for words in self._with_newer(commands)]

    def _with_newer(self, commands: tuple[tuple[str, ...], ...]) -> list[tuple[str, ...]]:
        newer = [(tool, *words[1:]) for tool in NEWER for words in commands if "--type" not in words]
        return [*commands, *(newer if self.live.newest else ())]

    def run(self) -> None:
        """Run every tool once, in one JVM."""
        commands = [words for some in (LISTS, OFFSETS, MEMBERS, STATES) for words in self._with_newer(some)]
        if self.live.newest:
            commands += [("GroupsCommand", "--list"), *((tool, "--list", "--state") for tool in NEWER)]
        for words, printed in zip(commands, run_tools(self.live.cluster, commands), strict=True):
            assert printed.status == 0, (words, printed.err)
            assert "Exception" not in printed.out + printed.err, (words, printed)
            self.tables[words] = rows(printed.out, list(self.listed))


async def _read(live: Live) -> tuple[dict[str, Listing], GroupsRead, ClusterInfo]:
    async with connect([live.bootstrap]) as admin:
        listed = await admin.list_groups()
        assert listed.faults == ()
        read = await read_in_full(admin, Deadline(60), listed.rows)
        assert read.faults == []
        return dict(listed.rows), read, await admin.cluster()


@pytest.fixture(
    scope="module", params=[pytest.param(name, marks=pytest.mark.broker(name)) for name in ("live_431", "live_392")]
)
def told(request: pytest.FixtureRequest) -> Iterator[Told]:
    """Each broker with live groups in turn, and with one group whose commit lies beyond its log's end."""
    live: Live = request.getfixturevalue(request.param)
    live.cluster.commit(AHEAD, {("orders", 2): 150})
    listed, read, cluster = asyncio.run(_read(live))
    told = Told(live, listed, read, as_kafka_prints.from_python(read, cluster))
    told.run()
    yield told
    live.cluster.admin.delete_consumer_groups([AHEAD])[AHEAD].result(30)


def kafkas(told: Told, tool: str) -> set[str]:
    """The groups that one of Kafka's tools is for."""
    if tool == "ConsumerGroupCommand":
        return {
            g
            for g, row in told.listed.items()
            if row.type in {"classic", "consumer"} and row.protocol in {"consumer", ""}
        }
    return {g for g, row in told.listed.items() if row.type == tool.removesuffix("GroupCommand").lower()}


def test_lists_name_the_same_groups_with_type_protocol_and_state(told: Told) -> None:
    live = {group.id for group in told.live.groups.values()}
    assert live < told.listed.keys()
    for words, table in told.tables.items():
        if "--list" not in words:
            continue
        wanted = set(told.listed) if words[0] == "GroupsCommand" else kafkas(told, words[0])
        assert sorted(row["GROUP"] for row in table) == sorted(wanted), words
        for row in table:
            ours = told.listed[row["GROUP"]]
            cells = {
                "GROUP": row["GROUP"],
                "TYPE": str(ours.type).capitalize(),
                "PROTOCOL": ours.protocol,
                "STATE": ours.state,
            }
            assert row == {title: cells[title] for title in row}, words


def test_states_are_the_same(told: Told) -> None:
    """Coordinator, assignor, state, epochs and number of members of every group."""
    for words, table in told.theirs(STATES):
        assert {row["GROUP"] for row in table} == kafkas(told, words.split()[0]), words
        for row in table:
            ours = told.ours.states[row["GROUP"]]
            row["COORDINATOR (ID)"] = " ".join(row["COORDINATOR (ID)"].split())
            # 3.9 leaves the cell of a group without an assignor empty.
            assert {title: cell or "-" for title, cell in row.items()} == {title: ours[title] for title in row}, words


def test_members_are_the_same(told: Told) -> None:
    """Ids, instance ids, client ids, hosts, epochs, and what each has and shall have."""
    for words, table in told.theirs(MEMBERS):
        found = {(row["GROUP"], row.get("CONSUMER-ID") or row["MEMBER"]): row for row in table}
        ids = kafkas(told, words.split()[0])
        assert sorted(found) == sorted(key for key in told.ours.members if key[0] in ids), words
        for key, row in found.items():
            ours = dict(told.ours.members[key])
            if "TARGET-ACTIVE" not in row.get("ASSIGNMENTS", "TARGET-ACTIVE"):
                ours["ASSIGNMENTS"], _, _ = ours["ASSIGNMENTS"].partition(" TARGET-")
            if not told.live.newest and "ASSIGNMENT" in row:
                # 3.9 forgets the topic's name.
                ours["ASSIGNMENT"] = f"({ours['ASSIGNMENT'].removeprefix('orders:')})"
            assert row == {title: ours[title] for title in row}, words


def test_offsets_are_the_same(told: Told) -> None:
    """Committed offset or share-partition start offset, leader epoch, log end, lag and owner of every partition."""
    for words, table in told.theirs(OFFSETS):
        found = {(row["GROUP"], row["TOPIC"], row["PARTITION"]): row for row in table}
        assert len(found) == len(table), words
        ids = kafkas(told, words.split()[0])
        if words.startswith("Streams"):
            # Kafka's tool prints no offsets of a streams group without members.
            ids = {group for group in ids if told.listed[group].state != "Empty"}
        assert sorted(found) == sorted(key for key in told.ours.offsets if key[0] in ids), words
        for key, row in found.items():
            ours = told.ours.offsets[key]
            assert row == {title: ours[title] for title in row}, words


def test_show_tells_the_same_as_the_api(told: Told, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    shown = run_json(["show", "--format", "json", *told.listed], told, capfdbinary)
    ours = as_kafka_prints.from_json(shown["groups"], shown["cluster"])
    assert ours.states == told.ours.states
    assert ours.members == told.ours.members
    assert ours.offsets == told.ours.offsets
    kinds = {row["group"]: (row["type"], row["protocol"]) for row in shown["groups"]}
    assert kinds == {group: (row.type, row.protocol) for group, row in told.listed.items()}


def test_ls_sums_what_kafkas_tools_print(told: Told, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    listed = {
        row["group"]: row
        for row in run_json(["ls", "--format", "json", "--lag", "--members"], told, capfdbinary)["groups"]
    }
    assert listed.keys() == told.listed.keys()
    for words, table in told.theirs(STATES):
        for row in table:
            ours = listed[row["GROUP"]]
            assert (ours["state"], str(ours["members"])) == (row["STATE"], row["#MEMBERS"]), words
    for words, table in told.theirs(OFFSETS):
        for group in {row["GROUP"] for row in table}:
            cells = [row.get("LAG") or row["OFFSET-LAG"] for row in table if row["GROUP"] == group]
            known = [max(int(cell), 0) for cell in cells if cell != "-"]
            assert (listed[group]["lag"], listed[group]["lag_unknown"]) == (sum(known), 0), (words, group)


async def test_partitions_that_a_streams_group_never_committed(broker_431: Cluster, tmp_path: Path) -> None:
    """Kafka's streams tool counts from the log's start; we say that there is no commit, and have no lag."""
    group = topic = "streams-that-never-read"
    broker_431.create_topic(topic, 2)
    broker_431.produce(topic, 10, 0)
    broker_431.produce(topic, 4, 1)
    broker_431.delete_records(topic, 0, before=3)
    arguments = [broker_431.bootstrap, group, topic]
    member = Java(broker_431.version, "PausedStreams.java", arguments, tmp_path / "streams.log")
    try:
        member.wait_for("READY", 90)
        (printed,) = run_tools(
            broker_431, [("StreamsGroupCommand", "--describe", "--group", group, "--offsets", "--verbose")]
        )
        async with connect([broker_431.bootstrap]) as admin:
            read = await read_in_full(admin, Deadline(30), {group: Listing("streams", "streams", "Stable", 1)})
            ours = as_kafka_prints.from_python(read, await admin.cluster()).offsets
            member.end(60)
            (outcome,) = await admin.delete_groups([group])
    finally:
        member.stop()
    assert outcome.ok
    found = {(row["GROUP"], row["TOPIC"], row["PARTITION"]): row for row in rows(printed.out)}
    assert {key[2]: row["OFFSET-LAG"] for key, row in found.items()} == {"0": "7", "1": "4"}
    assert found.keys() == ours.keys()
    for key, row in found.items():
        assert row == {title: ours[key][title] for title in row}
    told = {row.partition: (row.lag, row.reason) for row in lags(read.offsets_by_group()[group])}
    assert told == {0: (None, "no commit"), 1: (None, "no commit")}


def test_connect_workers_run_what_their_rest_interface_says(told: Told) -> None:
    """Kafka's tools refuse groups of Connect: the REST interface, at the address we tell, says what the worker runs."""
    (member,) = told.read.descriptions["connect-cluster"].members or ()
    worker = member.connect
    assert worker is not None
    assert worker.url.startswith("http://127.0.0.1:")
    with urlopen(f"{worker.url}connectors?expand=status", timeout=30) as answer:  # noqa: S310 - a worker of ours
        running = {name: found["status"] for name, found in json.load(answer).items()}
    assert worker.connectors == tuple(running)
    assert dict(worker.tasks) == {name: tuple(task["id"] for task in found["tasks"]) for name, found in running.items()}
    places = [place["worker_id"] for found in running.values() for place in (found["connector"], *found["tasks"])]
    assert {f"http://{place}/" for place in places} == {worker.url}


def run_json(words: list[str], told: Told, capfdbinary: pytest.CaptureFixture[bytes]) -> dict[str, Any]:
    """What a command of ours prints as JSON."""
    capfdbinary.readouterr()
    assert main(["--bootstrap-server", told.live.bootstrap, *words]) == 0
    printed: dict[str, Any] = json.loads(capfdbinary.readouterr().out)
    return printed
