"""Tests of `Progress`, which shows the progress of a command.

On a terminal, `Progress` redraws one line. Otherwise, for example in a pipe, it prints at most one line every 10 s.
"""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

from kgtui.commands.printing import Progress

if TYPE_CHECKING:
    import pytest


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_progress_line_on_a_terminal_is_redrawn_and_finally_erased(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr("kgtui.commands.printing.time.monotonic", lambda: now[0])
    out = Terminal()
    with Progress(out) as progress:
        for step in range(3):
            progress.update(f"step {step}")
            now[0] += 0.06
    assert out.getvalue() == "\x1b[2K\rkgtui: step 0\x1b[2K\rkgtui: step 2\x1b[2K\r"


def test_progress_in_a_pipe_is_at_most_one_line_every_ten_seconds(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    now = [0.0]
    monkeypatch.setattr("kgtui.commands.printing.time.monotonic", lambda: now[0])
    with Progress() as progress:
        for step in range(3):
            now[0] += 6
            progress.update(f"step {step}\n")
    assert capfd.readouterr().err == "kgtui: step 1\\n\n"
