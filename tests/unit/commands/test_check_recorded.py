"""Tests of `kgtui check --lake`, which computes verdicts from recorded polls instead of reading a cluster."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest

from kgtui import cli
from kgtui.history.changes import PollResult
from kgtui.lake.folder import LakeFolder, update_retention
from kgtui.model.answer import Fault
from kgtui.model.cluster import Retention
from kgtui.model.group import GroupDescription, Listing
from kgtui.model.members import Member
from kgtui.model.offsets import CommittedOffset, PartitionBounds
from tests.unit.history.recording_builder import START, RecordingBuilder

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

POLLS = 31
"""Number of polls in the recording, one every 10 s for five minutes."""

HOUR, DAY = 3_600.0, 86_400.0

STOPS = 12
"""Index of the poll after which the group `stuck` commits no more offsets."""


def state_at(poll: int, **more: Any) -> PollResult:
    """Return the result of poll number `poll` (from 0). `more` contains additional arguments of `PollResult`."""
    offsets = {"fine": 1000 + 200 * poll, "slow": 1000 + 100 * poll, "stuck": 1000 + 100 * min(poll, STOPS)}
    ends = {"fine": 1005 + 200 * poll, "slow": 1900 + 140 * poll, "stuck": 1010 + 100 * poll}
    return PollResult(
        {group: Listing("consumer", "consumer", "Stable", 1 + (group == "slow")) for group in offsets},
        {
            group: GroupDescription(
                group, "consumer", "consumer", "Stable", 1, "uniform", 4, 4,
                (Member(f"m-{group}", "c", "/h", assignment=((f"t-{group}", (0,)),)),),
            )
            for group in offsets
        } if poll == 0 else {},
        {group: (CommittedOffset(f"t-{group}", 0, offset, 0),) for group, offset in offsets.items()},
        bounds={(f"t-{group}", 0): PartitionBounds(0, end) for group, end in ends.items()},
        **more,
    )  # fmt: skip


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("recorded") / "lake"
    recording = RecordingBuilder(path)
    for poll in range(POLLS):
        recording.poll(state_at(poll), START + poll * 10_000, keyframe=poll == 20)
        if poll in (10, 19, 25, 30):
            recording.flush()
    recording.compact()
    update_retention(LakeFolder.of(path), Retention(dict.fromkeys(("t-fine", "t-slow", "t-stuck"), HOUR), DAY), ())
    return path


class Completed:
    """Exit code, stdout and stderr of `kgtui check`."""

    def __init__(self, code: int, out: str, err: str) -> None:
        self.code, self.out, self.err = code, out, err

    @property
    def verdicts(self) -> dict[str, str]:
        return {line.split()[0]: line.split()[3] for line in self.out.splitlines()[1:]}


@pytest.fixture
def check(lake: Path, capfd: pytest.CaptureFixture[str]) -> Callable[..., Completed]:
    def run(*words: str, lake: Path = lake) -> Completed:
        capfd.readouterr()
        return Completed(cli.main(["check", "--lake", str(lake), *words]), *capfd.readouterr())

    return run


def at(poll: int) -> str:
    return datetime.fromtimestamp(START / 1000 + poll * 10, UTC).isoformat()


def test_kgtui_check_gives_verdicts_at_the_end_of_a_recording_by_default(
    check: Callable[..., Completed],
) -> None:
    ran = check()
    assert (ran.code, ran.err) == (1, "")
    assert ran.verdicts == {"slow": "WARN", "stuck": "STOP"}
    assert "no commit on t-stuck-0 for 2 min, 1,810 unread" in ran.out
    assert check("--all").verdicts == {"fine": "OK", "slow": "WARN", "stuck": "STOP"}


def test_kgtui_check_ignores_polls_after_the_requested_time(
    check: Callable[..., Completed],
) -> None:
    """The group `stuck` commits nothing after poll 12. At poll 14, it is too early for a verdict other than OK."""
    verdicts = {poll: check("--all", "stuck", "--at", at(poll)).verdicts["stuck"] for poll in (12, 14, 24, 30)}
    assert verdicts == {12: "OK", 14: "OK", 24: "STOP", 30: "STOP"}


def test_kgtui_check_says_that_verdicts_from_30_recorded_seconds_are_not_final(check: Callable[..., Completed]) -> None:
    ran = check("--all", "stuck", "--for", "30s", "--at", at(STOPS + 3))
    assert (ran.code, ran.verdicts) == (0, {"stuck": "OK?"})
    assert "after 30 s, the verdict on 1 group is not final: STOP requires more than 45 s without progress" in ran.err


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("fine",), 0),
        (("slow",), 0),
        (("slow", "--fail-on", "warn"), 1),
        (("stuck", "--at", "3m"), 0),
        (("stuck", "--allowed-lag", "5000"), 0),
        (("stuck", "--commit-interval", "1m"), 0),
        (("no-such-group",), 1),
        (("verdict:warn+", "fine"), 0),
        (("--filter", "verdict:stop"), 1),
        (("--at", "1d"), 2),
        (("--interval", "5s"), 2),
    ],
)
def test_exit_code_of_kgtui_check_for_a_recording_depends_on_verdicts_and_options(
    check: Callable[..., Completed], words: tuple[str, ...], code: int
) -> None:
    assert check(*words).code == code


def test_kgtui_check_json_has_the_end_and_length_of_the_checked_period(check: Callable[..., Completed]) -> None:
    ran = check("stuck", "--for", "1m", "--format", "json", "--at", at(26))
    found = json.loads(ran.out)
    (row,) = found["groups"]
    assert found["taken_at"] == row["read_at"]
    assert found["taken_at"].startswith(at(26)[:19])
    assert found["check"] == {
        "seconds": 60.0, "interval": 10.0, "fail_on": "ERR", "failed": True,
        "verdicts": {"OK": 0, "WARN": 0, "ERR": 1, "NOT_FOUND": 0, "UNKNOWN": 0},
    }  # fmt: skip
    assert (row["cause"], row["basis"], row["reads"], row["reads_failed"]) == ("STOP", "observed", 7, 0)
    assert row["lag"] == 1010 + 100 * 26 - (1000 + 100 * STOPS)
    assert row["trend"] == pytest.approx(10.0)


def test_kgtui_check_reports_that_only_part_of_the_requested_period_was_recorded(
    check: Callable[..., Completed],
) -> None:
    ran = check("fine", "--for", "1h")
    assert (ran.code, ran.err) == (0, "kgtui: only 5 min of the requested 1 h were recorded\n")


def test_kgtui_check_predicts_record_expiry_from_recorded_retention_times(
    check: Callable[..., Completed], tmp_path: Path
) -> None:
    (row,) = json.loads(check("stuck", "--format", "json").out)["groups"]
    loss = row["loss"]
    # The oldest unread record is at least two minutes old. The topic keeps records for one hour, so this record is
    # deleted in at most 58 minutes.
    assert (loss["topic"], loss["partition"], loss["basis"]) == ("t-stuck", 0, "retention")
    assert (loss["seconds"], loss["at_most"]) == (HOUR - 120, True)
    unknown = RecordingBuilder(tmp_path / "unknown")
    unknown.poll(state_at(0), START)
    unknown.flush()
    stderr = check("--all", lake=tmp_path / "unknown").err
    assert (
        "the retention of some topics or of offsets could not be read: "
        "the recording contains no retention times of topics and offsets" in stderr
    )


def test_kgtui_check_computes_the_lag_trend_only_from_polls_after_a_recording_gap(
    tmp_path: Path, check: Callable[..., Completed]
) -> None:
    recording = RecordingBuilder(tmp_path / "gap")
    for poll in (*range(6), *range(9, 12)):
        recording.poll(state_at(poll), START + poll * 10_000, gap="recorder stopped" if poll == 9 else "")
    recording.flush()
    ran = check("slow", "--format", "json", "--all", lake=tmp_path / "gap")
    assert "kgtui: the recording has a gap: recorder stopped\n" in ran.err
    (row,) = json.loads(ran.out)["groups"]
    assert (row["reads"], row["trend_seconds"]) == (9, 20.0)


def test_kgtui_check_exits_with_1_if_recorded_data_is_incomplete(
    tmp_path: Path, check: Callable[..., Completed]
) -> None:
    silent = Fault("NO_ANSWER", "no answer within 5 s", broker=2)
    recording = RecordingBuilder(tmp_path / "silent")
    for poll in range(13):
        recording.poll(state_at(poll, faults=(("offsets", silent),) if poll > 8 else ()), START + poll * 10_000)
    recording.flush()
    ran = check("slow", "--format", "json", "--all", lake=tmp_path / "silent")
    (row,) = json.loads(ran.out)["groups"]
    assert (ran.code, row["reads"], row["reads_failed"]) == (1, 9, 4)
    assert "broker 2: no answer within 5 s [NO_ANSWER]" in ran.err
    assert check("fine", "--all", lake=tmp_path / "silent").verdicts == {"fine": "OK"}


def test_kgtui_check_finds_a_deleted_group_at_an_earlier_time(tmp_path: Path, check: Callable[..., Completed]) -> None:
    recording = RecordingBuilder(tmp_path / "gone")
    for poll in range(4):
        recording.poll(state_at(poll) if poll < 3 else PollResult({}), START + poll * 10_000)
    recording.flush()
    ran = check("fine", "--for", "30s", lake=tmp_path / "gone")
    assert (ran.code, ran.err) == (1, "kgtui: no group matches the filter\n")
    assert check("fine", "--at", at(2), "--all", lake=tmp_path / "gone").code == 0


def test_option_at_of_kgtui_check_requires_a_recording(capfd: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["check", "--at", "10m"]) == 2
    assert "--lake" in capfd.readouterr().err
