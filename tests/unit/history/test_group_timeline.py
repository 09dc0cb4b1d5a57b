"""Tests of `RecordingReader.group_timeline`: the state of a group at each poll, and its changes between polls."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kgtui.cli import main
from kgtui.history.changes import PollResult
from kgtui.history.recording_reader import RecordingReader
from kgtui.model.answer import Fault
from kgtui.model.group import GroupDescription, Listing
from kgtui.model.members import Member
from kgtui.model.rfc3339 import rfc3339
from tests.pilot.history import sample_history
from tests.unit.history import values
from tests.unit.history.recording_builder import START, RecordingBuilder
from tests.unit.history.test_recording_reader import poll_of, write

if TYPE_CHECKING:
    from pathlib import Path


@settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    polls=st.lists(
        st.tuples(values.polls(), st.booleans(), st.sampled_from(["", "flush", "compact"])), min_size=1, max_size=6
    )
)
def test_group_timeline_has_the_recorded_state_of_the_group_at_each_poll(
    tmp_path_factory: pytest.TempPathFactory, polls: list[tuple[PollResult, bool, str]]
) -> None:
    path = tmp_path_factory.mktemp("lake")
    recording = RecordingBuilder(path)
    for number, (seen_, keyframe, then) in enumerate(polls):
        recording.poll(seen_, START + number * 10_000, keyframe=keyframe)
        if then:
            recording.flush()
        if then == "compact":
            recording.compact()
    recording.flush()
    lake = RecordingReader(path)
    for group in {group for seen_, _, _ in polls for group in seen_.listings}:
        timeline = lake.group_timeline(group, lake.first.at, lake.last.at)
        assert list(timeline.times) == [poll.at for poll in lake.polls()]
        for index, poll in enumerate(lake.polls()):
            state = lake.at(poll)
            if group not in state.listings:
                assert math.isnan(timeline.lag[index])
                assert timeline.change_point_at(poll.at) is None or not timeline.change_point_at(poll.at).listed  # type: ignore[union-attr]
                continue
            lag, change_point, description = (
                state.lag(group).lag,
                timeline.change_point_at(poll.at),
                state.description(group),
            )
            assert none_if_nan(timeline.lag[index]) == (lag if lag is None else float(lag % 2**64))
            assert change_point is not None
            assert change_point.state == state.listings[group].state
            epochs = (None, None) if description is None else (description.group_epoch, description.assignment_epoch)
            assert (change_point.epoch, change_point.assignment_epoch) == epochs
            if index:
                before, now = lake.at(lake.polls()[index - 1]).member_ids(group), state.member_ids(group)
                came = next((one for one in timeline.change_points if one.at == poll.at), None)
                assert (set(came.joined), set(came.left)) == (now - before, before - now) if came else before == now


def none_if_nan(value: float) -> float | None:
    """Return `value`, or None if it is NaN. Timelines use NaN for unknown numbers."""
    return None if math.isnan(value) else value


def at(poll: int) -> float:
    """Return the time of the poll with this index, in seconds since the Unix epoch. There is one poll every 10 s."""
    return (START + poll * 10_000) / 1000


def test_group_timeline_has_lag_rates_and_member_count_at_each_poll(tmp_path: Path) -> None:
    """The rates `written` and `read` are the numbers of records that were written and consumed per second.

    The first poll has no rates, because a rate is computed from two polls.
    """
    write(tmp_path, poll_of(100, end=150), poll_of(120, end=200), poll_of(120, end=200), keyframes=(2,))
    lake = RecordingReader(tmp_path)
    timeline = lake.group_timeline("pay", at(0), at(2))
    assert list(timeline.lag) == [50, 80, 80]
    assert list(timeline.members) == [1, 1, 1]
    assert [none_if_nan(rate) for rate in timeline.written] == [None, 5.0, 0.0]
    assert [none_if_nan(rate) for rate in timeline.read] == [None, 2.0, 0.0]
    poll = lake.group_timeline("pay", at(1), at(1))
    assert [list(column) for column in (poll.lag, poll.read)] == [
        [80], [2.0],
    ]  # fmt: skip


def test_group_timeline_has_no_rates_at_the_first_poll_after_a_gap(tmp_path: Path) -> None:
    """The recorder did not run between the second and the third poll, so the rates at the third poll are unknown."""
    recording = RecordingBuilder(tmp_path)
    recording.poll(poll_of(100), START, gap="the recording begins")
    recording.poll(poll_of(100), START + 10_000)
    recording.poll(poll_of(900, end=950), START + 500_000, keyframe=True, gap="recorder killed")
    recording.flush()
    timeline = RecordingReader(tmp_path).group_timeline("pay", at(0), at(50))
    assert [none_if_nan(rate) for rate in timeline.read] == [None, 0.0, None]
    assert timeline.gaps == ((at(1), at(50), "recorder killed"),)
    assert timeline.change_point_at(at(20)) is None
    assert [change_point.gap for change_point in timeline.change_points] == ["", "recorder killed"]


def test_group_timeline_reports_new_members_new_partition_owners_and_decreased_offsets(tmp_path: Path) -> None:
    write(
        tmp_path,
        poll_of(100),
        poll_of(100, owner="m-2"),
        poll_of(40, owner="m-2"),
        poll_of(groups=("other",)),
    )
    timeline = RecordingReader(tmp_path).group_timeline("pay", at(0), at(3))
    _, reassigned, rewound, gone = timeline.changes
    assert (reassigned.now.joined, reassigned.now.left, reassigned.now.moved) == (("m-2",), ("m-1",), 1)
    assert (rewound.now.rewound, none_if_nan(timeline.read[2])) == (60, None)
    assert (gone.now.listed, gone.now.left) == (False, ("m-2",))


def test_group_timeline_reports_the_duration_of_a_rebalance(tmp_path: Path) -> None:
    def poll(state: str, epoch: int) -> PollResult:
        reported = GroupDescription("pay", "consumer", "consumer", state, 1, group_epoch=epoch, members=(MEMBER,))
        return PollResult({"pay": Listing("consumer", "consumer", state, 1)}, {"pay": reported})

    states = [("Stable", 4), ("Assigning", 5), ("Reconciling", 5), ("Stable", 5)]
    write(tmp_path, *(poll(state, epoch) for state, epoch in states))
    changes = RecordingReader(tmp_path).group_timeline("pay", at(0), at(3)).changes
    assert [(change.now.state, change.now.epoch, change.lasted, change.rebalanced) for change in changes] == [
        ("Stable", 4, None, None),
        ("Assigning", 5, None, None),
        ("Reconciling", 5, 10.0, None),
        ("Stable", 5, 10.0, 20.0),
    ]


MEMBER = Member("m-1", "client", "/10.0.0.1")


def test_group_timeline_has_no_rates_if_offsets_could_not_be_read(tmp_path: Path) -> None:
    """The rates at a poll are computed from the offsets of this poll and of the previous poll.

    Therefore, if offsets cannot be read at a poll, the rates are unknown at this poll and at the next one. An error of
    another broker than the coordinator of the group has no effect on the rates.
    """
    silent, other = (("broker", Fault("NO_ANSWER", "silent", broker=node)) for node in (1, 2))
    own = ("offsets", Fault("GROUP_AUTHORIZATION_FAILED", "no", broker=2, group="pay"))
    faults = [(), (silent,), (), (other,), (own,), ()]
    write(tmp_path, *(poll_of(100 + 20 * n, end=500 + 20 * n, faults=reported) for n, reported in enumerate(faults)))
    timeline = RecordingReader(tmp_path).group_timeline("pay", at(0), at(5))
    assert [none_if_nan(rate) for rate in timeline.read] == [None, None, None, 2.0, None, None]
    assert list(timeline.lag) == [400] * 6


def test_group_timeline_has_no_rates_while_the_coordinator_fails_with_different_errors(tmp_path: Path) -> None:
    silent, closed = (("broker", Fault(name, "no", broker=1)) for name in ("NO_ANSWER", "NOT_CONNECTED"))
    faults = [(), (silent,), (closed,), (closed,), (), ()]
    write(tmp_path, *(poll_of(100 + 20 * n, end=500 + 20 * n, faults=reported) for n, reported in enumerate(faults)))
    timeline = RecordingReader(tmp_path).group_timeline("pay", at(0), at(5))
    assert [none_if_nan(rate) for rate in timeline.read] == [None, None, None, None, None, 2.0]


def test_group_timeline_of_a_time_range_without_polls_is_empty(tmp_path: Path) -> None:
    write(tmp_path, poll_of())
    timeline = RecordingReader(tmp_path).group_timeline("pay", at(0) - 500, at(0) - 400)
    assert not timeline.times
    assert not timeline.change_points


@pytest.mark.parametrize(
    "group", ["it's", "'; DROP TABLE groups --", "a\\'b", 'quo"te', "nul\x00", "caf\udce9", "", "ü"]
)
def test_recording_reader_finds_a_group_whose_id_has_special_characters(tmp_path: Path, group: str) -> None:
    write(
        tmp_path,
        poll_of(groups=(group, "other")),
        poll_of(groups=("other",)),
        poll_of(groups=(group, "other")),
    )
    recording = RecordingReader(tmp_path)
    listed = [point.listed for point in recording.group_timeline(group, at(0), at(2)).change_points]
    assert listed == [True, False, True]
    assert recording.next_change(group, recording.first) == recording.polls()[1]


def test_kgtui_show_prints_when_a_recorded_group_appeared_and_last_made_progress(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """The recording has the polls 0 to 119 of two groups. One group exists from poll 0, and `late` from poll 60.

    The last rebalance of both groups ends at poll 92, so their current state began at this poll.
    """
    sample_history.record(tmp_path)
    assert main(["show", "--lake", str(tmp_path), "--format", "json", sample_history.GROUP, "late"]) == 0
    names = ("first_seen", "state_since", "last_progress")
    found = [tuple(group[name] for name in names) for group in json.loads(capfd.readouterr().out)["groups"]]
    first, late, settled, last = (rfc3339(sample_history.time_of_poll(poll)) for poll in (0, 60, 92, 119))
    assert found == [(first, settled, last), (late, settled, last)]
    assert main(["show", "--lake", str(tmp_path), sample_history.GROUP]) == 0
    assert f"last progress     {last}" in capfd.readouterr().out


def test_start_of_a_state_is_unknown_if_it_precedes_the_recording(tmp_path: Path) -> None:
    write(tmp_path, *[poll_of(groups=("pay",))] * 3)
    lake = RecordingReader(tmp_path)
    times = lake.group_timeline("pay", lake.first.at, lake.last.at).observed_times
    assert times == (lake.first.at, None, None)
