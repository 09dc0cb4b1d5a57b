"""Run `kgtui events` on a real broker while a group is created, used, rewound to a lower offset, and deleted."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

from kgtui.admin.kafka import connect
from kgtui.commands.events import watch
from kgtui.commands.parser import parse_args
from kgtui.commands.selection import query_of
from tests.brokers.members import CLASSIC, Members

if TYPE_CHECKING:
    from collections.abc import Callable

    import pytest

    from tests.brokers.cluster import Cluster

GROUP, TOPIC = "events-orders", "events-topic"


async def test_kgtui_events_prints_the_changes_to_a_group_in_chronological_order(
    broker_431: Cluster, capfd: pytest.CaptureFixture[str]
) -> None:
    broker = broker_431
    broker.create_topic(TOPIC, 2)
    broker.produce(TOPIC, 10)
    args = parse_args(["events", "--format", "json", f"/^{GROUP}$/"])
    args.seconds, args.interval = None, 0.5
    capfd.readouterr()
    printed: list[dict[str, Any]] = []

    async with connect(broker.bootstrap.split(",")) as admin:
        watching = asyncio.create_task(watch(args, admin, query_of(args)))

        async def until(holds: Callable[[list[str]], bool]) -> None:
            """Wait until `holds` returns true. Its argument is the list of the kinds of all events printed so far."""
            async with asyncio.timeout(60):
                while not holds([event["kind"] for event in printed]):
                    await asyncio.sleep(0.1)
                    printed.extend(map(json.loads, capfd.readouterr().out.splitlines()))
                    assert not watching.done()

        await asyncio.sleep(2.0)  # Let kgtui list the groups once, because it reports only later changes.
        members = await asyncio.to_thread(Members, broker, GROUP, TOPIC, CLASSIC)
        await asyncio.to_thread(members.wait_until_assigned)
        await until(lambda kinds: {"appeared", "joined", "moved"} <= set(kinds))
        await asyncio.to_thread(members.commit, {0: 8})
        await asyncio.sleep(1.5)  # Wait until kgtui has read offset 8, so that it notices the decrease to 3.
        await asyncio.to_thread(members.commit, {0: 3})
        await until(lambda kinds: "rewound" in kinds)
        await asyncio.to_thread(members.leave)
        await until(lambda kinds: "left" in kinds and "verdict" in kinds)
        await asyncio.sleep(1.5)
        await asyncio.to_thread(broker.commit, GROUP, {(TOPIC, 0): 6})
        await until(lambda kinds: "reset" in kinds)
        assert [outcome.fault for outcome in await admin.delete_groups([GROUP])] == [None]
        await until(lambda kinds: "disappeared" in kinds)
        watching.cancel()
        await asyncio.wait([watching])

    assert {event["group"] for event in printed} == {GROUP}
    steps = [event["kind"] for event in printed if event["kind"] not in ("state", "moved", "verdict")]
    assert steps == ["appeared", "joined", "rewound", "left", "reset", "disappeared"]
    texts = {event["kind"]: event["text"] for event in printed}
    assert texts["joined"].startswith(f"{GROUP}-1 at /127.0.0.1")
    assert texts["rewound"] == f"offset of {TOPIC}-0 went back: 8 → 3"
    assert texts["reset"] == f"offset of {TOPIC}-0 reset while the group had no members: 3 → 6"
    assert texts["verdict"].startswith("verdict OK → stopped: all members left")
    assert texts["disappeared"] == "group deleted or expired; was Empty"
    times = [event["at"] for event in printed]
    assert times == sorted(times)
