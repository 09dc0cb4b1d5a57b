"""Tests that `read_polls` yields, for each poll, the same descriptions and offsets as `RecordingReader.at` returns."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kgtui.history.changes import PollResult
from kgtui.history.poll_reader import read_polls
from kgtui.history.recording_reader import RecordingReader
from kgtui.model.answer import Fault
from kgtui.model.offsets import GroupOffsets
from tests.unit.history import values
from tests.unit.history.recording_builder import START, RecordingBuilder
from tests.unit.history.test_recording_reader import STABLE, poll_of, write

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

NOTHING = GroupOffsets((), (), {})


@settings(max_examples=10, suppress_health_check=list(HealthCheck))
@given(
    polls=st.lists(
        st.tuples(values.polls(), st.booleans(), st.sampled_from(["flush", "compact"])), min_size=2, max_size=6
    ),
    skipped=st.integers(0, 3),
)
def test_poll_reader_returns_the_recorded_state_of_each_poll(
    tmp_path_factory: pytest.TempPathFactory, polls: list[tuple[PollResult, bool, str]], skipped: int
) -> None:
    path = tmp_path_factory.mktemp("lake")
    recording = RecordingBuilder(path)
    for number, (poll, keyframe, then) in enumerate(polls):
        recording.poll(replace(poll, faults=()), START + number * 10_000, keyframe=keyframe)
        recording.flush()
        if then == "compact":
            recording.compact()
    lake = RecordingReader(path)
    groups = {group for poll, _, _ in polls for group in poll.listings}
    moments = lake.polls()[min(skipped, len(polls) - 1) :]
    found = list(read_polls(lake, groups, moments))
    assert [seen_then.poll for seen_then in found] == moments
    for seen_then in found:
        state = lake.at(seen_then.poll)
        assert seen_then.groups.keys() == state.listings.keys()
        for group, read in seen_then.groups.items():
            assert read.description == state.description(group)
            nothing = replace(NOTHING, may_lack_topics=state.hidden.get(group, False))
            assert (read.offsets or nothing) == state.offsets(group)
            assert read.fault is None


def test_poll_reader_returns_only_the_requested_groups(tmp_path: Path) -> None:
    write(tmp_path, poll_of(100, groups=("pay", "ship")))
    lake = RecordingReader(tmp_path)
    (poll,) = read_polls(lake, ["pay", "nobody"], lake.polls())
    assert list(poll.groups) == ["pay"]


def test_poll_reader_returns_none_for_data_that_could_not_be_read(tmp_path: Path) -> None:
    of_group = ("offsets", Fault("GROUP_AUTHORIZATION_FAILED", "no", 30, 1, "pay"))
    of_coordinator = ("offsets", Fault("NO_ANSWER", "no answer", broker=1))
    of_other_broker = ("offsets", Fault("NO_ANSWER", "no answer", broker=2))
    logs = ("logs", Fault("NO_ANSWER", "no answer", broker=1))
    undescribed = ("describe", Fault("COORDINATOR_LOAD_IN_PROGRESS", "loading", 14, 1, "pay"))
    write(
        tmp_path, poll_of(100), poll_of(101, faults=(of_group,)), poll_of(102, faults=(of_coordinator,)),
        poll_of(103, faults=(of_other_broker, logs)),
        poll_of(104, faults=(undescribed,)), PollResult({"pay": STABLE}),
    )  # fmt: skip
    lake = RecordingReader(tmp_path)
    polls = list(read_polls(lake, ["pay"], lake.polls()))
    reads = [poll.groups["pay"] for poll in polls]
    assert [read.offsets is not None for read in reads] == [True, False, False, True, True, True]
    assert [read.description is not None for read in reads] == [True, True, False, True, False, True]
    assert [read.fault and read.fault.name for read in reads] == [
        None, "GROUP_AUTHORIZATION_FAILED", "NO_ANSWER", None, "COORDINATOR_LOAD_IN_PROGRESS", None,
    ]  # fmt: skip
    assert [len(poll.faults) for poll in polls] == [0, 0, 1, 2, 0, 0]


def test_poll_reader_omits_requested_groups_that_do_not_exist_at_a_poll(tmp_path: Path) -> None:
    write(tmp_path, poll_of(1), poll_of(2, groups=()), poll_of(3), keyframes=(2,))
    lake = RecordingReader(tmp_path)
    found = [list(poll.groups) for poll in read_polls(lake, ["pay"], lake.polls())]
    assert found == [["pay"], [], ["pay"]]
