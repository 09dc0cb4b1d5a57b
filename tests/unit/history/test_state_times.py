"""Tests that a recording shows when the current state of each group began."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from typing import TYPE_CHECKING

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kgtui.cli import main
from kgtui.history import state_times
from kgtui.history.recording_reader import RecordingReader
from kgtui.history.replay import ReplayAdmin
from kgtui.model.problem import Problem
from kgtui.monitor import Monitor
from tests.unit.history import values
from tests.unit.history.recording_builder import START, RecordingBuilder
from tests.unit.history.test_recording_reader import STABLE, poll_of, write
from tests.unit.history.test_replay import until

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

    from kgtui.history.changes import PollResult

EMPTY = replace(STABLE, state="Empty")


@settings(max_examples=12, suppress_health_check=list(HealthCheck))
@given(polls=st.lists(st.tuples(values.polls(), st.booleans()), min_size=1, max_size=6))
def test_replay_and_group_timeline_agree_when_the_state_of_each_group_began(
    tmp_path_factory: pytest.TempPathFactory, polls: list[tuple[PollResult, bool]]
) -> None:
    path = tmp_path_factory.mktemp("lake")
    recording = RecordingBuilder(path)
    for number, (result, keyframe) in enumerate(polls):
        recording.poll(result, START + number * 10_000, keyframe=keyframe)
    recording.flush()
    lake = RecordingReader(path)
    for poll in lake.polls():
        admin = asyncio.run(ReplayAdmin.open(lake, poll))
        found = asyncio.run(admin.state_times())
        assert found.search == (lake.first.at, True)
        for group in admin.point_in_time.listings:
            expected = lake.group_timeline(group, lake.first.at, poll.at).observed_times.state_since
            assert found.since.get(group) == expected, group


def test_replay_searches_only_newest_polls_for_the_start_of_states(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(state_times, "MOST_ROWS", 2)
    write(tmp_path, poll_of(), poll_of(listing=EMPTY), poll_of(listing=EMPTY), keyframes=(1, 2))
    lake = RecordingReader(tmp_path)
    found = asyncio.run(asyncio.run(ReplayAdmin.open(lake)).state_times())
    assert found == ({}, (lake.first.at + 10, False))


async def test_problem_of_a_replayed_group_depends_on_when_the_group_became_empty(tmp_path: Path) -> None:
    """The recording begins while the group is Empty. Later, the group has a member and becomes Empty again.

    At the first poll, the time at which the group became Empty is unknown, so the problem of the group is EMPTY. At the
    last poll, this time is known, so the problem of the group is STOP.
    """
    write(tmp_path, poll_of(listing=EMPTY), poll_of(), poll_of(listing=EMPTY), poll_of(listing=EMPTY))
    lake = RecordingReader(tmp_path)
    admin = await ReplayAdmin.open(lake, lake.last)
    monitor = Monitor(admin, now=admin.now, recorded_at=lambda: admin.poll.at)
    task = asyncio.create_task(monitor.run())
    try:
        await until(lambda: monitor.snapshot.judgment("pay").kind is Problem.STOP)
        assert monitor.snapshot.judgment("pay").since == lake.first.at + 20
        await admin.seek(lake.first)
        monitor.refresh()
        await until(lambda: monitor.snapshot.judgment("pay").kind is Problem.EMPTY)
        assert monitor.snapshot.judgment("pay").reason == "Empty since before the recording, 50 unread"
    finally:
        task.cancel()


def test_kgtui_commands_print_when_a_recorded_group_became_empty(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path, poll_of(), poll_of(listing=EMPTY), poll_of(listing=EMPTY))
    for command in (["ls", "--lag"], ["show", "pay"]):
        main([*command, "--lake", str(tmp_path), "--format", "json"])
        group = json.loads(capsys.readouterr().out)["groups"][0]
        assert group["state_since"] == "2026-11-21T08:33:30.000Z", command
    main(["ls", "--lag", "--lake", str(tmp_path)])
    assert "stop" in capsys.readouterr().out
    main(["ls", "empty:5s+", "--lake", str(tmp_path)])
    assert "pay" in capsys.readouterr().out
