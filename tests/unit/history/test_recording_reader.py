"""Tests that `RecordingReader` returns each poll as it was recorded, even after crashes and compactions."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kgtui.errors import LakeError
from kgtui.history.changes import PollResult
from kgtui.history.point_in_time import LagChange, OwnerChange
from kgtui.history.recording_reader import RecordingReader
from kgtui.lake.delta import RecordedTable
from kgtui.lake.folder import LakeFolder
from kgtui.lake.schemas import POLLS, TABLES
from kgtui.model.answer import Fault
from kgtui.model.group import GroupDescription, Listing
from kgtui.model.members import Member, partitions_read
from kgtui.model.offsets import CommittedOffset, PartitionBounds
from tests.unit.history import values
from tests.unit.history.recording_builder import CLUSTER, START, RecordingBuilder

if TYPE_CHECKING:
    from pathlib import Path

    from kgtui.history.point_in_time import PointInTime

DAY = 86_400_000


class ExpectedState:
    """Computes in memory the values that `RecordingReader` should return for each poll and group."""

    def __init__(self) -> None:
        self.groups: dict[str, dict[str, Any]] = {}
        self.faults: set[tuple[str, str]] = set()

    def apply(self, result: PollResult) -> dict[str, dict[str, Any]]:
        """Add a poll. Return the expected values of each group at this poll, as a dict: group id → values."""
        before, self.groups = self.groups, {}
        for group, listing in result.listings.items():
            now = {"committed": (), "share": (), "bounds": {}, "description": None} | before.get(group, {})
            now |= {"listing": listing, "description": result.descriptions.get(group, now["description"])}
            if group in result.committed or group in result.share:
                committed, share = result.committed.get(group, ()), result.share.get(group, ())
                places = [(row.topic, row.partition) for rows in (committed, share) for row in rows]
                logs = {tp: result.bounds[tp] for tp in places if tp in result.bounds}
                about = now["description"]
                if about is not None and group in result.committed:
                    owned = partitions_read(about.members, about.topology)
                    extra = {
                        tp: result.bounds[tp] for tp in owned if tp in result.bounds and not result.bounds[tp].error
                    }
                    logs = extra | logs
                now |= {"committed": committed, "share": share, "bounds": logs}
            self.groups[group] = now
        return self.groups


def state_of(state: PointInTime) -> dict[str, dict[str, Any]]:
    """Return the values of each group in `state`, as a dict in the format that `ExpectedState.apply` returns."""
    return {
        group: {
            "listing": listing,
            "description": state.description(group),
            "committed": state.offsets(group).committed,
            "share": state.offsets(group).share,
            "bounds": state.offsets(group).bounds,
        }
        for group, listing in state.listings.items()
    }


@settings(max_examples=12, suppress_health_check=list(HealthCheck))
@given(
    polls=st.lists(
        st.tuples(values.polls(), st.booleans(), st.sampled_from(["", "flush", "compact"])), min_size=1, max_size=6
    )
)
def test_recording_reader_returns_every_poll_as_it_was_recorded(
    tmp_path_factory: pytest.TempPathFactory, polls: list[tuple[PollResult, bool, str]]
) -> None:
    path = tmp_path_factory.mktemp("lake")
    recording, expected_state = RecordingBuilder(path), ExpectedState()
    expected = {}
    for number, (poll_of, keyframe, then) in enumerate(polls):
        recording.poll(poll_of, START + number * 10_000, keyframe=keyframe)
        groups = expected_state.apply(poll_of)
        expected[START + number * 10_000] = groups, {(scope, fault.name) for scope, fault in poll_of.faults}
        if then:
            recording.flush()
        if then == "compact":
            recording.compact()
    recording.flush()

    lake = RecordingReader(path)
    assert [poll.ms for poll in lake.polls()] == list(expected)
    for poll in lake.polls():
        state, (groups, faults) = lake.at(poll), expected[poll.ms]
        assert state_of(state) == groups
        assert {(scope, fault.name) for scope, fault in state.faults} == faults
        assert (state.cluster, state.answered) == (CLUSTER, 2)


STABLE = Listing("consumer", "consumer", "Stable", 1)


def poll_of(
    offset: int = 100, *, end: int = 150, owner: str = "m-1", groups: tuple[str, ...] = ("pay",), **more: Any
) -> PollResult:
    """Return a poll in which each group has one member, which owns partition 0 of topic `t`.

    Args:
        offset: committed offset of each group.
        end: log end offset of the partition.
        owner: id of the member.
        groups: ids of the groups.
        more: other attributes of `PollResult`. The additional argument `listing` is the row of each group in the list
            of groups; its default is `STABLE`.
    """
    reader = Member(owner, "client", "/10.0.0.1", topics=("t",), assignment=(("t", (0,)),))
    return PollResult(
        dict.fromkeys(groups, more.pop("listing", STABLE)),
        {group: GroupDescription(group, "consumer", "consumer", "Stable", 1, members=(reader,)) for group in groups},
        {group: (CommittedOffset("t", 0, offset, 1),) for group in groups},
        bounds={("t", 0): PartitionBounds(0, end)},
        **more,
    )


def write(path: Path, *polls: PollResult, every: int = 10_000, keyframes: tuple[int, ...] = ()) -> RecordingBuilder:
    """Record polls into the lake (a folder of Delta tables) at `path`. Each poll is written to disk separately.

    Args:
        every: time between two polls in milliseconds.
        keyframes: indices of the polls that store all groups; the others store only changes. The first poll always
            stores all groups.
    """
    recording = RecordingBuilder(path)
    for number, poll in enumerate(polls):
        recording.poll(poll, START + number * every, keyframe=number in keyframes)
        recording.flush()
    return recording


def test_recorded_poll_has_rows_only_for_changes_since_the_previous_poll(tmp_path: Path) -> None:
    recording = RecordingBuilder(tmp_path)
    assert recording.poll(poll_of(), START) == 3
    assert recording.poll(poll_of(), START + 10_000) == 0
    assert recording.poll(poll_of(101), START + 20_000) == 1
    # Partition 0 has a new owner. The poll has three rows: one for the member that joined, one for the member that
    # left, and one for the partition.
    assert recording.poll(poll_of(101, owner="m-2"), START + 30_000) == 3
    assert recording.poll(PollResult({}), START + 40_000) == 3
    assert recording.poll(PollResult({}), START + 50_000, keyframe=True) == 0


def test_recorded_group_keeps_its_offsets_and_description_if_a_poll_lacks_them(tmp_path: Path) -> None:
    write(tmp_path, poll_of(), PollResult({"pay": STABLE}))
    state = RecordingReader(tmp_path).at(None)
    assert state.offsets("pay").committed[0].offset == 100
    assert state.description("pay") is not None


def test_a_broker_error_is_returned_only_for_the_poll_at_which_it_occurred(tmp_path: Path) -> None:
    slow = [("broker", Fault("NO_ANSWER", f"no answer in {number} s", broker=2)) for number in (5, 7)]
    write(tmp_path, poll_of(faults=(slow[0],)), poll_of(faults=(slow[1],)), poll_of())
    lake = RecordingReader(tmp_path)
    counts = [len(lake.at(poll).faults) for poll in lake.polls()]
    assert counts == [1, 1, 0]
    assert lake.at(lake.first).faults[0] == slow[0]


def test_rows_of_an_interrupted_flush_are_ignored_and_later_removed(tmp_path: Path) -> None:
    """A flush writes a poll to the table `polls` after all other tables. Here, it is interrupted before `polls`."""
    recording = write(tmp_path, poll_of(100))
    recording.poll(poll_of(999, groups=("pay", "half")), START + 10_000)
    polls = RecordedTable(LakeFolder.of(tmp_path).table(POLLS.name), POLLS)
    (batch,) = [recording.writer._open]
    assert batch is not None
    batch.parts[POLLS.name] = []
    assert batch.has("groups")
    recording.flush()
    lake = RecordingReader(tmp_path)
    assert len(lake.polls()) == 1
    assert list(lake.at(None).listings) == ["pay"]
    assert lake.at(None).offsets("pay").committed[0].offset == 100

    again = RecordingBuilder(tmp_path)
    again.poll(poll_of(200), START + 20_000, gap="recorder killed")
    again.flush()
    again.compact()
    lake.refresh()
    assert [poll.gap for poll in lake.polls()] == ["", "recorder killed"]
    for poll, offset in zip(lake.polls(), (100, 200), strict=True):
        assert list(lake.at(poll).listings) == ["pay"]
        assert lake.at(poll).offsets("pay").committed[0].offset == offset
    assert sum(file["num_records"] for file in polls.files()) == 2


def test_compacting_a_recording_merges_the_files_between_two_keyframes(tmp_path: Path) -> None:
    """A keyframe is a poll that stores all groups.

    In the Delta log, the compaction has `dataChange=false`. Otherwise, streaming readers would read all rows again.
    """
    recording = write(tmp_path, *(poll_of(100 + number) for number in range(9)), keyframes=(4, 8))
    recording.compact()
    files = RecordedTable(LakeFolder.of(tmp_path).table("partitions"), TABLES[2]).files()
    assert sorted(file["num_records"] for file in files) == [1, 4, 4]
    log = "".join(
        path.read_text() for path in sorted((tmp_path / "recorded/partitions/_delta_log").glob("*.json"))[-2:]
    )
    assert '"dataChange":false' in log
    assert '"dataChange":true' not in log


def test_maintenance_of_a_recording_deletes_old_polls(tmp_path: Path) -> None:
    recording = write(tmp_path, poll_of(), poll_of(101), poll_of(102), every=DAY, keyframes=(1, 2))
    assert recording.keyframe is not None
    recording.writer.maintain(recording.keyframe, 1, (START + 2 * DAY) / 1000)
    lake = RecordingReader(tmp_path)
    assert [poll.ms for poll in lake.polls()] == [START + DAY, START + 2 * DAY]
    assert lake.at(lake.first).offsets("pay").committed[0].offset == 101


def test_recording_reader_returns_the_newest_poll_at_or_before_a_time(tmp_path: Path) -> None:
    write(tmp_path, poll_of(100), poll_of(101))
    lake = RecordingReader(tmp_path)
    assert lake.at(START / 1000 + 9.9).poll == lake.first
    assert lake.at(START / 1000 + 10).poll == lake.last
    assert lake.at(START / 1000 + 1e9).poll == lake.last
    assert lake.step(lake.first) == lake.last
    assert lake.step(lake.first, -1) is None
    with pytest.raises(LakeError, match="starts at 2026-11-21T"):
        lake.at(START / 1000 - 1)


def test_refreshed_recording_reader_finds_new_polls(tmp_path: Path) -> None:
    recording = write(tmp_path, poll_of(100))
    lake = RecordingReader(tmp_path)
    assert lake.at(None).offsets("pay").committed[0].offset == 100
    recording.poll(poll_of(150), START + 10_000)
    recording.flush()
    assert lake.refresh() == 1
    assert lake.refresh() == 0
    assert lake.at(None).offsets("pay").committed[0].offset == 150


def test_next_change_of_a_group_is_found_in_a_recording_of_several_days(tmp_path: Path) -> None:
    """A change of a group means that the group appears, disappears, or gets a different state or assignment.

    A new committed offset is not a change.
    """
    moved = replace(STABLE, state="Empty")
    polls = (
        poll_of(1), poll_of(2), poll_of(3, owner="m-2"), poll_of(4, owner="m-2"),
        poll_of(5, owner="m-2", groups=("pay", "new")),
        poll_of(6, owner="m-2", groups=("new",)), poll_of(7, owner="m-2", groups=("new",)),
        poll_of(8, owner="m-2", groups=("new", "pay"), listing=moved),
    )  # fmt: skip
    write(tmp_path, *polls, every=DAY // 3, keyframes=(2, 3, 4, 5, 7))
    lake = RecordingReader(tmp_path)

    def changes(group: str, *, back: bool) -> list[int]:
        found, at = [], lake.last if back else lake.first
        while (at_next := lake.next_change(group, at, back=back)) is not None:
            at = at_next
            found.append((at.ms - START) // (DAY // 3))
        return found

    assert changes("pay", back=False) == [2, 5, 7]
    assert changes("pay", back=True) == [5, 2]
    assert changes("new", back=False) == [4, 7]
    assert changes("nobody", back=False) == []


def test_stepping_forward_finds_a_poll_recorded_after_the_reader_was_opened(tmp_path: Path) -> None:
    recording = write(tmp_path, poll_of(1), poll_of(2))
    lake = RecordingReader(tmp_path)
    last = lake.last
    assert lake.step(last, 1) is None
    recording.poll(poll_of(3), last.ms + 10_000)
    recording.flush()
    found = lake.step(last, 1)
    assert found is not None
    assert found.ms == last.ms + 10_000
    assert lake.step(last, -5) is None


def test_comparison_of_two_polls_lists_changed_groups_members_owners_and_lags(tmp_path: Path) -> None:
    write(
        tmp_path,
        poll_of(100, end=150, groups=("old", "pay")),
        poll_of(110, end=900, owner="m-2", groups=("new", "pay"), listing=replace(STABLE, state="Reconciling")),
    )
    lake = RecordingReader(tmp_path)
    for found in (lake.compare(lake.first, lake.last), lake.compare(lake.last.at, lake.first.at)):
        assert (found.joined, found.left) == (("new",), ("old",))
        assert [(group, old.state, new.state) for group, old, new in found.relisted] == [
            ("pay", "Stable", "Reconciling")
        ]
        assert (found.members_joined, found.members_left) == ((("pay", "m-2"),), (("pay", "m-1"),))
        assert found.member_names == {("pay", "m-1"): "client#m-1", ("pay", "m-2"): "client#m-2"}
        assert found.moved == (OwnerChange("pay", "t", 0, "m-1", "m-2"),)
        assert found.lags == (LagChange("pay", 50, 790),)
        assert found.lags[0].by == 740


def test_recording_reader_error_mentions_the_damaged_lake(tmp_path: Path) -> None:
    write(tmp_path, poll_of())
    for path in (tmp_path / "recorded/partitions").glob("day=*/*.parquet"):
        path.write_bytes(b"not parquet")
    with pytest.raises(LakeError, match=f"{tmp_path} cannot be read"):
        RecordingReader(tmp_path).at(None).offsets("pay")
    for path in (tmp_path / "recorded/polls/_delta_log").iterdir():
        path.write_text("{")
    with pytest.raises(LakeError, match=f"{tmp_path} cannot be read"):
        RecordingReader(tmp_path)


def test_recording_reader_opened_before_a_compaction_still_returns_earlier_polls(tmp_path: Path) -> None:
    recording = write(tmp_path, poll_of(100), poll_of(101), poll_of(102), keyframes=(2,))
    lake = RecordingReader(tmp_path)
    recording.compact()
    table = RecordedTable(LakeFolder.of(tmp_path).table("partitions"), TABLES[2])
    used = {file["path"].split("/")[-1] for file in table.files()}
    for path in (tmp_path / "recorded/partitions").glob("day=*/*.parquet"):
        if path.name not in used:
            path.unlink()
    assert lake.at(lake.first).offsets("pay").committed[0].offset == 100


def test_recording_reader_returns_the_time_at_which_a_group_disappeared(tmp_path: Path) -> None:
    """A group disappears at the first poll that no longer contains the group. The reader returns the time of this poll.

    Usually, the poll has a row that says that the group is gone. A keyframe (a poll that stores all groups) has no such
    row, but the reader must find the time nevertheless.
    """
    pay, both = PollResult({"pay": STABLE}), PollResult({"pay": STABLE, "old": STABLE})
    write(tmp_path / "poll", both, both, pay, pay)
    reader = RecordingReader(tmp_path / "poll")
    assert reader.disappeared_at("old") == (START + 20_000) / 1000
    assert reader.disappeared_at("pay") is reader.disappeared_at("unknown") is None
    write(tmp_path / "back", both, pay, both)
    assert RecordingReader(tmp_path / "back").disappeared_at("old") is None
    write(tmp_path / "keyframe", both, pay, keyframes=(1,))
    assert RecordingReader(tmp_path / "keyframe").disappeared_at("old") == (START + 10_000) / 1000
