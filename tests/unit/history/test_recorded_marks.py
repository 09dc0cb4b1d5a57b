"""Tests that a recording shows for which groups the offsets are incomplete, because the user lacks permissions."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from deltalake import DeltaTable, write_deltalake

from kgtui.cli import main
from kgtui.history import RecordingReader, ReplayAdmin
from kgtui.history.changes import PollResult
from kgtui.history.point_in_time import LagChange
from kgtui.history.poll_reader import read_polls
from kgtui.lake.folder import LakeFolder
from kgtui.lake.schemas import GROUPS
from kgtui.model.access import FULL_ACCESS, Access
from kgtui.model.answer import Fault
from kgtui.model.offsets import PartitionBounds
from tests.unit.history.recording_builder import START, RecordingBuilder
from tests.unit.history.test_recording_reader import STABLE, poll_of, write

if TYPE_CHECKING:
    from pathlib import Path

HIDDEN, VISIBLE = frozenset({"pay"}), frozenset[str]()
BEGIN = START / 1000
"""Time of the first poll in seconds since the Unix epoch. There is one poll every 10 s."""


async def marked_groups(lake: Path, poll: int) -> set[str]:
    """Return the ids of the groups whose offsets are incomplete in a replay of the poll with the index `poll`."""
    recording = RecordingReader(lake)
    replay = await ReplayAdmin.open(recording, recording.polls()[poll])
    return set((await replay.committed_offsets(["pay", "ship"])).hidden)


async def test_offsets_in_a_replay_are_incomplete_if_topics_were_hidden_from_the_recorder(tmp_path: Path) -> None:
    polls = [poll_of(groups=("pay", "ship"), hidden=hidden) for hidden in (VISIBLE, HIDDEN, HIDDEN, VISIBLE, None)]
    write(tmp_path, *polls, keyframes=(2,))
    assert [await marked_groups(tmp_path, poll) for poll in range(5)] == [set(), {"pay"}, {"pay"}, set(), set()]
    recording = RecordingReader(tmp_path)
    reads = [read.groups["pay"].offsets for read in read_polls(recording, ["pay"], recording.polls())]
    assert [offsets is not None and offsets.hidden for offsets in reads] == [False, True, True, False, False]


async def test_replay_of_a_poll_without_offsets_returns_offsets_of_the_previous_poll(tmp_path: Path) -> None:
    """At the second poll, the offsets of the group `pay` were not read.

    Therefore, a replay of the second poll returns the offsets of the first poll. It also reports that these offsets are
    incomplete, because they were incomplete at the first poll.
    """
    write(tmp_path, poll_of(hidden=HIDDEN), PollResult({"pay": STABLE}, hidden=VISIBLE), poll_of(hidden=VISIBLE))
    assert [await marked_groups(tmp_path, poll) for poll in range(3)] == [{"pay"}, {"pay"}, set()]


@pytest.mark.parametrize("cause", ["owned partition", "withheld members"])
async def test_offsets_are_incomplete_if_members_consume_a_forbidden_topic(tmp_path: Path, cause: str) -> None:
    poll = replace(poll_of(hidden=VISIBLE), committed={"pay": ()})
    if cause == "owned partition":
        poll = replace(poll, bounds={("t", 0): PartitionBounds(None, None, 29)})
    else:
        refused = Fault("TOPIC_AUTHORIZATION_FAILED", "no", 29, 1, "pay")
        poll = replace(poll, descriptions={}, faults=(("describe", refused),))
    write(tmp_path, poll)
    assert await marked_groups(tmp_path, 0) == {"pay"}


@pytest.mark.parametrize(("hidden", "hides"), [(HIDDEN, True), (VISIBLE, False)])
@pytest.mark.parametrize("any_topic", ["true", "false"])
async def test_a_replay_infers_topic_permissions_from_incomplete_offsets(
    tmp_path: Path, hidden: frozenset[str], hides: bool, any_topic: str
) -> None:
    """A recording stores only the newest permissions of the user. At the time of a poll, they may have been different.

    Args:
        hidden: groups whose offsets at the poll may be incomplete, because the user could not describe all topics.
        hides: whether there is such a group. If so, the replay must return that the user cannot describe all topics.
        any_topic: whether the stored permissions include all topics. This must not affect the result.
    """
    write(tmp_path, poll_of(hidden=hidden))
    stored = f'{{"cluster_operations": ["DESCRIBE"], "any_topic": {any_topic}}}'
    (LakeFolder.of(tmp_path).local_path / "access.json").write_text(stored, encoding="utf-8")
    replay = await ReplayAdmin.open(RecordingReader(tmp_path))
    assert await replay.access() == Access(frozenset({"DESCRIBE"}), any_topic=not hides)


def test_poll_comparison_and_group_timeline_report_incomplete_lags(tmp_path: Path) -> None:
    write(tmp_path, poll_of(hidden=HIDDEN), poll_of(end=170, hidden=VISIBLE), poll_of(end=180, hidden=VISIBLE))
    recording = RecordingReader(tmp_path)
    (change,) = recording.compare(recording.polls()[0], recording.polls()[2]).lags
    assert (change, change.by) == (LagChange("pay", 50, 80, hidden_before=True), 0)
    intervals = {since: recording.group_timeline("pay", since, BEGIN + 20) for since in (BEGIN, BEGIN + 10)}
    assert [timeline.may_lack_topics for timeline in intervals.values()] == [True, False]


def test_kgtui_ls_says_that_a_recorded_group_has_no_visible_offsets(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """The recording contains no offsets of the groups `pay` and `ship`.

    `pay` may have offsets in topics that were hidden from the recorder. `ship` certainly has no offsets.
    """
    poll = poll_of(groups=("pay", "ship"), hidden=HIDDEN)
    write(tmp_path, replace(poll, committed={"pay": (), "ship": ()}))
    assert main(["ls", "--lag", "--lake", str(tmp_path)]) == 1
    out, err = capfd.readouterr()
    assert {line.split()[0]: line.split()[-1] for line in out.splitlines()[1:]} == {"pay": "?", "ship": "–"}
    assert "group pay: no offsets that you are allowed to see" in err


def test_kgtui_commands_say_that_a_recorded_lag_is_incomplete(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path, poll_of(groups=("pay", "ship"), hidden=HIDDEN))
    assert main(["ls", "--lag", "--lake", str(tmp_path)]) == 0
    out, err = capfd.readouterr()
    assert "the lag of 1 group is a lower bound" in err
    lags = {line.split()[0]: line.split()[6:] for line in out.splitlines()[1:]}
    assert lags == {"pay": ["≥", "50"], "ship": ["50"]}
    main(["show", "pay", "--lake", str(tmp_path)])
    assert "Offsets in topics that you are not allowed to describe are not listed" in capfd.readouterr().out
    main(["check", "pay", "--lake", str(tmp_path), "--all"])
    assert "OK?" in capfd.readouterr().out


async def test_replay_of_an_older_kgtui_recording_reports_no_incomplete_offsets(tmp_path: Path) -> None:
    """An older kgtui version recorded the first poll without the column `offsets_may_be_hidden`.

    Therefore, it is unknown whether the offsets of the first poll are incomplete. The second poll has the column.
    """
    write(tmp_path, poll_of(hidden=HIDDEN))
    table = str(LakeFolder.of(tmp_path).table(GROUPS.name))
    rows = DeltaTable(table).to_pyarrow_table().drop_columns(["offsets_may_be_hidden"])
    write_deltalake(table, rows, mode="overwrite", schema_mode="overwrite", partition_by=["day"])
    assert await marked_groups(tmp_path, 0) == set()
    assert await (await ReplayAdmin.open(RecordingReader(tmp_path))).access() == FULL_ACCESS
    recording = RecordingBuilder(tmp_path)
    recording.poll(poll_of(hidden=HIDDEN), START + 10_000)
    recording.flush()
    assert [await marked_groups(tmp_path, poll) for poll in range(2)] == [set(), {"pay"}]
