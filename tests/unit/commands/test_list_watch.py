"""Tests of `kgtui ls --watch` on simulated clusters: the list keeps the groups of a broker that stops responding."""

from __future__ import annotations

import asyncio
import json
import time
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import pytest

from kgtui.admin.kafka import connect
from kgtui.commands.list_watch import ListWatch
from kgtui.commands.selection import Selection, select_groups
from kgtui.model.query import parse
from kgtui.model.rfc3339 import rfc3339
from kgtui.monitor.policy import watch_timeout
from kgtui.output.group_list import GroupList, as_json, as_table
from kgtui.simulator import Simulator
from tests.event_loop import counting_waits, longer_if_busy

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

MAX_TIMEOUT = 60.0


@asynccontextmanager
async def watched(cluster: Simulator, interval: float, filter_text: str = "", *, lag: bool) -> AsyncIterator[ListWatch]:
    """Yield a `ListWatch`, which reads the groups that match `filter_text` each time its method `read` is called.

    Args:
        interval: intended time between two calls of `read`, in seconds. The timeout of a read depends on it.
        lag: True to read the lag of the groups too.
    """
    query = parse(filter_text)
    async with connect(cluster.bootstrap.split(",")) as admin:

        async def select(timeout: float) -> Selection:
            return await select_groups(admin, query, lag=lag, timeout=timeout)

        yield ListWatch(query, select, interval, MAX_TIMEOUT)


@pytest.mark.parametrize("lag", [False, True])
@longer_if_busy(1)
async def test_kgtui_ls_watch_keeps_groups_of_a_silent_broker(lag: bool, timeout: float) -> None:
    """While broker 2 does not respond, kgtui shows the values that it read earlier for the groups of this broker.

    `timeout` is the interval between two reads, in seconds.
    """
    async with (
        Simulator(brokers=3, scenario="plain", groups=60) as cluster,
        watched(cluster, timeout, lag=lag) as watch,
    ):
        began = time.monotonic()
        before, earlier = await watch.read()
        timeout = watch_timeout(timeout, time.monotonic() - began, MAX_TIMEOUT)
        assert (before.coverage.brokers, earlier) == ((3, 3), {})
        cluster.faults.black_hole(2)
        async with counting_waits() as waited:
            now, earlier = await watch.read()
            assert waited() < 2 * timeout
        assert now.coverage.brokers == (2, 3)
        assert sorted(now.ids) == sorted(before.ids)
        hung = {group for group, listing in before.snapshot.groups.items() if listing.coordinator == 2}
        assert earlier == dict.fromkeys(hung, before.snapshot.taken_at)
        if lag:
            assert all(now.snapshot.summaries[group].lag == before.snapshot.summaries[group].lag for group in hung)

        await asyncio.sleep(1)
        now, earlier = await watch.read()
        groups = GroupList(now.snapshot, now.ids, now.coverage, now.faults, lag=lag, earlier=earlier)
        heading, *rows = as_table(groups).splitlines()
        assert heading.split()[-1] == "AGE"
        aged = {row.split()[0]: row.split()[-2:] for row in rows if row.endswith(" s")}
        assert aged.keys() == hung
        assert all(int(seconds) >= 2 for seconds, _ in aged.values()), (
            "a row must show the age of the last complete read"
        )
        times = {row["group"]: row["read_at"] for row in json.loads(as_json(groups))["groups"]}
        assert {times[group] for group in hung} == {rfc3339(before.snapshot.taken_at)}

        cluster.faults.black_hole(2, False)
        async with asyncio.timeout(60):
            while earlier:
                now, earlier = await watch.read()
        assert now.coverage.brokers == (3, 3)


@longer_if_busy(1)
async def test_kgtui_ls_watch_removes_a_deleted_group_while_another_broker_is_silent(timeout: float) -> None:
    """The coordinator of the deleted group is broker 1, which still responds. So kgtui notices the deletion.

    kgtui keeps the rows of the previous read only for the groups of broker 2, which is silent.
    """
    async with (
        Simulator(brokers=3, scenario="plain", groups=60) as cluster,
        watched(cluster, timeout, lag=False) as watch,
    ):
        before, _ = await watch.read()
        cluster.faults.black_hole(2)
        deleted = next(group for group, row in before.snapshot.groups.items() if row.coordinator == 1)
        cluster.state.remove_group(deleted)
        now, _ = await watch.read()
    assert set(before.ids) - set(now.ids) == {deleted}


@longer_if_busy(1)
async def test_kgtui_ls_watch_adds_no_unmatched_groups_of_a_silent_broker(timeout: float) -> None:
    async with (
        Simulator(brokers=3, scenario="plain", groups=60) as cluster,
        watched(cluster, timeout, "coordinator:1", lag=False) as watch,
    ):
        before, _ = await watch.read()
        cluster.faults.black_hole(2)
        now, earlier = await watch.read()
    assert (now.ids, earlier) == (before.ids, {})


async def test_kgtui_ls_watch_keeps_all_groups_if_no_broker_responds() -> None:
    async with Simulator(brokers=2, scenario="plain", groups=10) as cluster, watched(cluster, 1, lag=True) as watch:
        before, _ = await watch.read()
        for node in (1, 2):
            cluster.faults.black_hole(node)
        now, earlier = await watch.read()
    assert now.ids == before.ids
    assert earlier.keys() == set(before.ids)
    assert now.coverage.brokers == (0, 2)
    assert now.faults
