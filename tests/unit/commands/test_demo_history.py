"""`record_history`: the simulated history has no gaps, and is the same for the same seed."""

from __future__ import annotations

import asyncio
import io
from typing import TYPE_CHECKING

from kgtui.commands.pipeline_demo import DemoHistory, newest_poll_time, record_history
from kgtui.commands.progress import Progress
from kgtui.history import Lake

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

END = 20_003 * 86_400.0
DAYS = DemoHistory(days=0.25, interval=600.0, until=END, seed=4)


def recorded(path: Path) -> Lake:
    told: list[int] = []
    status = asyncio.run(record_history(str(path), DAYS, told.append))
    assert status.polls == DAYS.polls == 37
    assert status.waiting == 0
    assert told == list(range(1, 38))
    return Lake(path)


def test_a_quarter_of_a_day(tmp_path: Path) -> None:
    first, second = recorded(tmp_path / "a"), recorded(tmp_path / "b")
    moments = first.moments()
    assert [moment.at for moment in moments] == [END - 21_600 + 600 * poll for poll in range(37)]
    assert [moment.gap for moment in moments] == ["the recording begins"] + [""] * 36
    assert moments == second.moments()
    for moment in (moments[0], moments[17], moments[-1]):
        one, other = first.at(moment), second.at(moment)
        assert one.listings == other.listings
        assert len(one.listings) > 30
        assert all(one.positions(group) == other.positions(group) for group in one.listings)
        assert all(one.members(group) == other.members(group) for group in one.listings)
    late = first.at(moments[-1])
    assert (late.lag("payments.settle").lag or 0) > 100_000 > (late.lag("payments.ledger").lag or 0)


def test_the_end_is_a_whole_interval() -> None:
    assert newest_poll_time(300.0, 1_000.0) == 900.0


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_progress_is_one_line_that_is_gone_at_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr("kgtui.commands.progress.time.monotonic", lambda: now[0])
    out = Terminal()
    with Progress(out) as progress:
        for step in range(3):
            progress.tell(f"step {step}")
            now[0] += 0.06
    assert out.getvalue() == "\x1b[2K\rkgtui: step 0\x1b[2K\rkgtui: step 2\x1b[2K\r"


def test_progress_elsewhere_is_a_line_now_and_then(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    now = [0.0]
    monkeypatch.setattr("kgtui.commands.progress.time.monotonic", lambda: now[0])
    with Progress() as progress:
        for step in range(3):
            now[0] += 6
            progress.tell(f"step {step}\n")
    assert capfd.readouterr().err == "kgtui: step 1\\n\n"
