"""Compare what kgtui and Kafka's own tools report about the same live groups of one broker."""

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
from tests.contract import kafka_tool_rows
from tests.contract.kafka_tools import rows

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from kgtui.admin.groups_read import GroupsRead
    from kgtui.model.cluster import ClusterInfo
    from tests.brokers.cluster import Cluster
    from tests.brokers.live import Live
    from tests.contract.kafka_tool_rows import ToolRows
    from tests.contract.kafka_tools import Row

ALL = ("--describe", "--all-groups")
LISTS = (("ConsumerGroupCommand", "--list", "--state", "--type"),)
OFFSETS = (("ConsumerGroupCommand", *ALL, "--offsets"), ("ConsumerGroupCommand", *ALL, "--offsets", "--verbose"))
MEMBERS = (("ConsumerGroupCommand", *ALL, "--members"), ("ConsumerGroupCommand", *ALL, "--members", "--verbose"))
STATES = (("ConsumerGroupCommand", *ALL, "--state"), ("ConsumerGroupCommand", *ALL, "--state", "--verbose"))
NEWER = {"ShareGroupCommand": "share", "StreamsGroupCommand": "streams"}
"""Kafka's tools for share groups and streams groups: name of the tool → group type that it describes."""
AHEAD = "ahead-of-the-log"


@dataclass(slots=True)
class Reports:
    """What Kafka's tools and kgtui report about the groups of one broker.

    Attributes:
        listed: group id → the group's entry in kgtui's list of groups.
        ours: kgtui's data about the groups, converted to the format of Kafka's tools.
        tables: command line of one of Kafka's tools (split into words) → rows that the tool prints.
    """

    live: Live
    listed: dict[str, Listing]
    read: GroupsRead
    ours: ToolRows
    tables: dict[tuple[str, ...], list[Row]] = field(default_factory=dict)

    def rows_of_kafka(self, commands: tuple[tuple[str, ...], ...]) -> list[tuple[str, list[Row]]]:
        """Return (command line, printed rows) for each command line in `commands`.

        The result also contains each command line with the tools for share and streams groups (see `newer`) in place of
        its own tool.
        """
        return [(" ".join(words), self.tables[words]) for words in self._with_newer(commands)]

    def _with_newer(self, commands: tuple[tuple[str, ...], ...]) -> list[tuple[str, ...]]:
        newer = [(tool, *words[1:]) for tool in self.newer for words in commands if "--type" not in words]
        return [*commands, *newer]

    @property
    def newer(self) -> list[str]:
        """Names of Kafka's tools for share and streams groups, if the broker supports these group types."""
        return [tool for tool, group_type in NEWER.items() if group_type in self.live.types]

    def run(self) -> None:
        """Run every command line of Kafka's tools that a test needs, and store the printed rows in `tables`.

        Rows whose lag is wrong (see `has_wrong_lag`) are not stored.
        """
        commands = [words for some in (LISTS, OFFSETS, MEMBERS, STATES) for words in self._with_newer(some)]
        if not self.live.version.startswith("3."):
            commands.append(("GroupsCommand", "--list"))
        commands += [(tool, "--list", "--state") for tool in self.newer]
        for words in commands:
            printed = self.live.cluster.tool(*words)
            assert printed.status == 0, (words, printed.err)
            assert "Exception" not in printed.out + printed.err, (words, printed)
            found = rows(printed.out, list(self.listed))
            self.tables[words] = [row for row in found if not self.has_wrong_lag(row.get("TOPIC", ""))]

    def has_wrong_lag(self, topic: str) -> bool:
        """Return whether Kafka's tool prints a wrong lag for `topic`.

        In Kafka 4.2, the tool for streams groups prints a wrong lag for repartition topics, because the tool does not
        read the offsets of these topics.
        """
        return self.live.version.startswith("4.2.") and topic.endswith("-repartition")


async def _read(live: Live) -> tuple[dict[str, Listing], GroupsRead, ClusterInfo]:
    async with connect([live.bootstrap]) as admin:
        listed = await admin.list_groups()
        assert listed.faults == ()
        read = await read_in_full(admin, Deadline(60), listed.rows)
        assert read.faults == []
        return dict(listed.rows), read, await admin.cluster()


@pytest.fixture(scope="module")
def reports(live: Live) -> Iterator[Reports]:
    """Yield the reports about one broker.

    In addition to the live groups, the reports contain the group `AHEAD`, whose committed offset is higher than the log
    end offset.
    """
    live.cluster.commit(AHEAD, {("orders", 2): 150})
    listed, read, cluster = asyncio.run(_read(live))
    reports = Reports(live, listed, read, kafka_tool_rows.from_python(read, cluster))
    reports.run()
    yield reports
    live.cluster.admin.delete_consumer_groups([AHEAD])[AHEAD].result(30)


def groups_of_tool(reports: Reports, tool: str) -> set[str]:
    """Return the ids of the groups that Kafka's tool `tool` can describe."""
    if tool == "ConsumerGroupCommand":
        return {
            g
            for g, row in reports.listed.items()
            if row.type in {"classic", "consumer"} and row.protocol in {"consumer", ""}
        }
    return {g for g, row in reports.listed.items() if row.type == tool.removesuffix("GroupCommand").lower()}


def test_kgtui_lists_the_same_groups_as_kafka_tools(reports: Reports) -> None:
    live = {group.id for group in reports.live.groups.values()}
    assert live < reports.listed.keys()
    for words, table in reports.tables.items():
        if "--list" not in words:
            continue
        expected = set(reports.listed) if words[0] == "GroupsCommand" else groups_of_tool(reports, words[0])
        assert sorted(row["GROUP"] for row in table) == sorted(expected), words
        for row in table:
            ours = reports.listed[row["GROUP"]]
            cells = {
                "GROUP": row["GROUP"],
                "TYPE": str(ours.type).capitalize(),
                "PROTOCOL": ours.protocol,
                "STATE": ours.state,
            }
            assert row == {title: cells[title] for title in row}, words


def test_kgtui_reports_the_same_state_of_every_group_as_kafka_tools(reports: Reports) -> None:
    """Compare the coordinator, assignor, state, epochs and number of members of every group."""
    for words, table in reports.rows_of_kafka(STATES):
        assert {row["GROUP"] for row in table} == groups_of_tool(reports, words.split()[0]), words
        for row in table:
            ours = reports.ours.states[row["GROUP"]]
            row["COORDINATOR (ID)"] = " ".join(row["COORDINATOR (ID)"].split())
            # Treat empty cells as `-`. Kafka 3.9's tool prints an empty cell if the group has no assignor.
            assert {title: cell or "-" for title, cell in row.items()} == {title: ours[title] for title in row}, words


def test_kgtui_reports_the_same_members_as_kafka_tools(reports: Reports) -> None:
    """Compare ids, instance ids, client ids, hosts, epochs, assignments and target assignments."""
    for words, table in reports.rows_of_kafka(MEMBERS):
        found = {(row["GROUP"], row.get("CONSUMER-ID") or row["MEMBER"]): row for row in table}
        ids = groups_of_tool(reports, words.split()[0])
        assert sorted(found) == sorted(key for key in reports.ours.members if key[0] in ids), words
        for key, row in found.items():
            ours = dict(reports.ours.members[key])
            if "TARGET-ACTIVE" not in row.get("ASSIGNMENTS", "TARGET-ACTIVE"):
                ours["ASSIGNMENTS"], _, _ = ours["ASSIGNMENTS"].partition(" TARGET-")
            if reports.live.version.startswith("3.") and "ASSIGNMENT" in row:
                # Remove the topic name, because the tool of Kafka 3.9 prints only the partition numbers.
                ours["ASSIGNMENT"] = f"({ours['ASSIGNMENT'].removeprefix('orders:')})"
            assert row == {title: ours[title] for title in row}, words


def test_kgtui_reports_the_same_offsets_as_kafka_tools(reports: Reports) -> None:
    """For every partition, compare the committed offset, leader epoch, log end offset, lag and owner.

    For share groups, compare the start offset instead of the committed offset.
    """
    for words, table in reports.rows_of_kafka(OFFSETS):
        found = {(row["GROUP"], row["TOPIC"], row["PARTITION"]): row for row in table}
        assert len(found) == len(table), words
        ids = groups_of_tool(reports, words.split()[0])
        if words.startswith("Streams"):
            # Leave out Empty groups, because Kafka's tool for streams groups prints no offsets for them.
            ids = {group for group in ids if reports.listed[group].state != "Empty"}
        ours_of_tool = [key for key in reports.ours.offsets if key[0] in ids and not reports.has_wrong_lag(key[1])]
        assert sorted(found) == sorted(ours_of_tool), words
        for key, row in found.items():
            ours = reports.ours.offsets[key]
            assert row == {title: ours[title] for title in row}, words


def test_kgtui_show_prints_the_same_values_as_the_python_api(
    reports: Reports, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    shown = run_json(["show", "--format", "json", *reports.listed], reports, capfdbinary)
    ours = kafka_tool_rows.from_json(shown["groups"], shown["cluster"])
    assert ours.states == reports.ours.states
    assert ours.members == reports.ours.members
    assert ours.offsets == reports.ours.offsets
    kinds = {row["group"]: (row["type"], row["protocol"]) for row in shown["groups"]}
    assert kinds == {group: (row.type, row.protocol) for group, row in reports.listed.items()}


def test_kgtui_ls_prints_the_sum_of_the_lags_that_kafka_tools_print(
    reports: Reports, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    listed = {
        row["group"]: row
        for row in run_json(["ls", "--format", "json", "--lag", "--members"], reports, capfdbinary)["groups"]
    }
    assert listed.keys() == reports.listed.keys()
    for words, table in reports.rows_of_kafka(STATES):
        for row in table:
            ours = listed[row["GROUP"]]
            assert (ours["state"], str(ours["members"])) == (row["STATE"], row["#MEMBERS"]), words
    for words, table in reports.rows_of_kafka(OFFSETS):
        for group in {row["GROUP"] for row in table}:
            cells = [row.get("LAG") or row.get("OFFSET-LAG") for row in table if row["GROUP"] == group]
            known = [max(int(cell), 0) for cell in cells if cell not in {"-", None}]
            # A cell is None if Kafka's tool prints no lag, because Kafka 4.1 brokers do not report the lag of share
            # groups. Then the lag of every partition must also be unknown to kgtui.
            expected = (None, len(cells)) if None in cells else (sum(known), 0)
            assert (listed[group]["lag"], listed[group]["lag_unknown"]) == expected, (words, group)


async def test_the_lag_of_streams_partitions_without_a_commit_is_unknown(broker_431: Cluster, tmp_path: Path) -> None:
    """For a partition without a committed offset, Kafka's tool prints the number of records in the log as the lag.

    kgtui reports that the lag is unknown.
    """
    group = topic = "streams-that-never-read"
    broker_431.create_topic(topic, 2)
    broker_431.produce(topic, 10, 0)
    broker_431.produce(topic, 4, 1)
    broker_431.delete_records(topic, 0, before=3)
    arguments = [broker_431.bootstrap, group, topic]
    member = Java(broker_431.version, "PausedStreams.java", arguments, tmp_path / "streams.log")
    try:
        member.wait_for("READY", 90)
        printed = broker_431.tool("StreamsGroupCommand", "--describe", "--group", group, "--offsets", "--verbose")
        async with connect([broker_431.bootstrap]) as admin:
            read = await read_in_full(admin, Deadline(30), {group: Listing("streams", "streams", "Stable", 1)})
            ours = kafka_tool_rows.from_python(read, await admin.cluster()).offsets
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
    lag_reasons = {row.partition: (row.lag, row.reason) for row in lags(read.offsets_by_group()[group])}
    assert lag_reasons == {0: (None, "no commit"), 1: (None, "no commit")}


def test_kgtui_reports_the_same_connect_tasks_as_the_rest_api_of_the_worker(reports: Reports) -> None:
    """Kafka's group tools reject Connect groups, so kgtui is compared with the REST API of the Connect worker."""
    (member,) = reports.read.descriptions["connect-cluster"].members or ()
    worker = member.connect
    assert worker is not None
    assert worker.url.startswith("http://127.0.0.1:")
    with urlopen(f"{worker.url}connectors?expand=status", timeout=30) as answer:  # noqa: S310 - a worker of the tests
        running = {name: found["status"] for name, found in json.load(answer).items()}
    assert worker.connectors == tuple(running)
    assert dict(worker.tasks) == {name: tuple(task["id"] for task in found["tasks"]) for name, found in running.items()}
    places = [place["worker_id"] for found in running.values() for place in (found["connector"], *found["tasks"])]
    assert {f"http://{place}/" for place in places} == {worker.url}


def run_json(words: list[str], reports: Reports, capfdbinary: pytest.CaptureFixture[bytes]) -> dict[str, Any]:
    """Run a kgtui command on the broker of `reports`; return the JSON that the command prints."""
    capfdbinary.readouterr()
    assert main(["--bootstrap-server", reports.live.bootstrap, *words]) == 0
    printed: dict[str, Any] = json.loads(capfdbinary.readouterr().out)
    return printed
