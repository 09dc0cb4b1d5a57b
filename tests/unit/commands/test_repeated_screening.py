"""Tests of screening: `kgtui ls --watch` finds problems by comparing successive reads of each group.

The first list that kgtui prints cannot show these problems, because at that time each group was read only once.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

from kgtui.commands import selection
from kgtui.commands.list_watch import RepeatedScreening
from kgtui.commands.selection import select_groups
from kgtui.errors import ClientError
from kgtui.model import facts
from kgtui.model.answer import Fault
from kgtui.model.offsets import PartitionBounds
from kgtui.model.problem import GroupStatus, Problem
from kgtui.model.query import parse
from kgtui.model.record_times import RecordTime, TimeRange
from kgtui.model.rfc3339 import rfc3339
from kgtui.monitor.screening import Screening
from kgtui.output.group_list import GroupList, as_json, as_table
from tests.scripted import ScriptedAdmin, member

if TYPE_CHECKING:
    import pytest

    from kgtui.model.snapshot import Snapshot


async def test_kgtui_ls_watch_needs_several_reads_to_find_stopped_groups(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    admin = ScriptedAdmin()
    for group in ("reads", "stuck"):
        admin.add(group, members=(member(),), lag=10)
    clock = {"now": 1_700_000_000.0}
    monkeypatch.setattr(selection.time, "time", lambda: clock["now"])  # type: ignore[attr-defined]
    # The test advances `time.time`, but not `time.monotonic`. `check_clock` would conclude that somebody changed the
    # system clock, so the test disables `check_clock`.
    monkeypatch.setattr(Screening, "check_clock", lambda _: None)
    screened = RepeatedScreening(admin, 5.0, 15.0)
    tables, selected = [], []
    for number in range(8):
        clock["now"] += 15
        row = admin.commits["reads"][0]
        admin.commits["reads"] = (replace(row, offset=1_000 + 50 * number),)
        admin.bounds["t-reads", 0] = PartitionBounds(0, 1_010 + 50 * number)
        found = await select_groups(admin, lag=True, on_read=screened.add, timeout=5)
        tables.append(as_table(GroupList(found.snapshot, found.ids, found.coverage, lag=True)))
        selected = (await select_groups(admin, parse("verdict:stop"), on_read=screened.add, timeout=5)).ids
    cells = [[line.split()[-2:] for line in table.splitlines()] for table in tables]
    assert cells[0] == [["VERDICT", "LAG"], ["?", "10"], ["?", "10"]]
    assert cells[-1] == [["VERDICT", "LAG"], ["ok", "10"], ["stop", "10"]]
    assert selected == ["stuck"]
    document = as_json(GroupList(found.snapshot, found.ids, found.coverage, lag=True))
    assert b'"verdict": "ERR"' in document
    assert b'"problem": "stop"' in document
    assert b'"verdict_basis": "screened"' in document
    rows = {row["group"]: row for row in json.loads(document)["groups"]}
    assert {row["first_seen"] for row in rows.values()} == {rfc3339(1_700_000_015.0)}
    assert [rows[group]["last_progress"] for group in ("reads", "stuck")] == [rfc3339(clock["now"]), None]


async def test_kgtui_ls_watch_remembers_groups_whose_coordinator_is_replaced(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Broker 2, which coordinates the group `simple`, is killed. For a while, no broker lists the group.

    When broker 3 lists it as the new coordinator, kgtui must still know when it first saw the group.
    """
    clock = {"now": 1_700_000_000.0}
    admin = ScriptedAdmin()
    for group in ("simple", "deleted"):
        admin.add(group, "classic", "", "Empty", coordinator=2, lag=10)
    admin.add("other", state="Empty", coordinator=3, lag=10)
    monkeypatch.setattr(selection.time, "time", lambda: clock["now"])  # type: ignore[attr-defined]
    monkeypatch.setattr(Screening, "check_clock", lambda _: None)
    screened = RepeatedScreening(admin, 5.0, 1.0)

    async def read() -> Snapshot:
        clock["now"] += 1
        return (await select_groups(admin, lag=True, on_read=screened.add, timeout=5)).snapshot

    first = await read()
    admin.broken[2] = ClientError("connection refused", broker=2)  # Broker 2 is killed.
    await read()
    assert "simple" not in screened.missing, "the silent broker may still coordinate the group"
    del admin.brokers[2], admin.broken[2]  # The cluster removes broker 2. Its groups wait for a new coordinator.
    row = admin.groups.pop("simple")
    del admin.groups["deleted"]
    admin.broken["simple"] = Fault("COORDINATOR_LOAD_IN_PROGRESS", "loading", 14, group="simple")
    await read()
    assert "simple" in screened.missing
    assert "deleted" not in screened.missing
    del admin.broken["simple"]
    admin.groups["simple"] = replace(row, coordinator=3)
    last = await read()
    judgment = last.judgment("simple")
    assert (judgment.kind, judgment.reason) == (
        Problem.EMPTY,
        "no members (offsets are committed without them), 10 unread",
    )
    assert "simple" not in last.state_since
    assert facts.first_seen(last, "simple") == facts.first_seen(first, "simple") == clock["now"] - 3


async def test_verdict_on_a_new_empty_group_does_not_say_that_all_members_left(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The group `new` is Empty when it appears, and never has members. A member joins the group `old`, and leaves.

    Therefore, only the verdict on `old` may say that all members left.
    """
    admin = ScriptedAdmin()
    admin.add("old", state="Empty", lag=10)
    screened = RepeatedScreening(admin, 5.0, 1.0)
    await select_groups(admin, lag=True, on_read=screened.add, timeout=5)
    admin.add("new", state="Empty", lag=10)
    last = (await select_groups(admin, lag=True, on_read=screened.add, timeout=5)).snapshot
    judgment = last.judgment("new")
    assert (judgment.kind, judgment.reason) == (Problem.EMPTY, "Empty since it appeared, 10 unread")
    assert "new" in last.state_since
    admin.add("old", members=(member(),), lag=10)
    await select_groups(admin, lag=True, on_read=screened.add, timeout=5)
    admin.add("old", state="Empty", lag=10)
    last = (await select_groups(admin, lag=True, on_read=screened.add, timeout=5)).snapshot
    assert last.judgment("old").reason == "all members left, 10 unread"


async def test_kgtui_ls_watch_shows_lost_records_and_unused_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = {"now": 1_700_000_000.0}
    admin = ScriptedAdmin()
    admin.add("late", members=(member(),), lag=10)
    admin.add("old", state="Empty", lag=10)
    admin.add("recent", state="Empty", lag=10)
    for group, age in (("old", 90_000.0), ("recent", 3_600.0)):
        written = TimeRange(clock["now"] - age, clock["now"] - age)
        admin.times[f"t-{group}", 0] = RecordTime(1_000, written)
    monkeypatch.setattr(selection.time, "time", lambda: clock["now"])  # type: ignore[attr-defined]
    # The test advances `time.time`, but not `time.monotonic`. `check_clock` would conclude that somebody changed the
    # system clock, so the test disables `check_clock`.
    monkeypatch.setattr(Screening, "check_clock", lambda _: None)
    screened = RepeatedScreening(admin, 5.0, 15.0)
    for log_start in (900, 900, 1_004):
        clock["now"] += 15
        admin.bounds["t-late", 0] = PartitionBounds(log_start, 1_010)
        found = await select_groups(admin, lag=True, on_read=screened.add, timeout=5)
    judgments = {group: found.snapshot.judgment(group) for group in admin.groups}
    assert {group: judgment.kind for group, judgment in judgments.items()} == {
        "late": Problem.DATA_LOST,
        "old": Problem.UNUSED,
        "recent": Problem.EMPTY,
    }
    assert judgments["late"].reason == "4 records expired before they were read"


async def test_kgtui_ls_watch_shows_rebalances_that_began_before_kgtui_started(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = {"now": 1_700_000_000.0}
    admin = ScriptedAdmin()
    admin.add("blocked", state="Reconciling", members=(member(),), lag=0)
    monkeypatch.setattr(selection.time, "time", lambda: clock["now"])  # type: ignore[attr-defined]
    # The test advances `time.time`, but not `time.monotonic`. `check_clock` would conclude that somebody changed the
    # system clock, so the test disables `check_clock`.
    monkeypatch.setattr(Screening, "check_clock", lambda _: None)
    screened = RepeatedScreening(admin, 5.0, 15.0)
    once = await select_groups(admin, lag=True, timeout=5)
    assert once.snapshot.judgment("blocked").status is GroupStatus.UNKNOWN
    for _ in range(6):
        clock["now"] += 15
        found = await select_groups(admin, lag=True, on_read=screened.add, timeout=5)
    assert found.snapshot.judgment("blocked").kind is Problem.REBALANCING
