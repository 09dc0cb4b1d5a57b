"""Test that the program restores the terminal and leaves no text on it, regardless of how the program ends."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import time
from typing import TYPE_CHECKING

import pytest

from tests.e2e.terminal import PROGRAM, clean_environment
from tests.e2e.ui import Ui

if TYPE_CHECKING:
    from pathlib import Path

    from kgtui.simulator import SimulatorProcess
    from tests.e2e.terminal import Terminal


@pytest.mark.parametrize("key", ["q", "C-c"])
def test_the_terminal_is_restored_after_a_key_has_quit_the_program(
    terminal: Terminal, cluster: SimulatorProcess, key: str
) -> None:
    Ui(terminal, "--bootstrap-server", cluster.bootstrap).start()
    terminal.keys(key)
    assert terminal.status() == 0
    terminal.check_clean()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT], ids=lambda number: str(number.name))
def test_the_terminal_is_restored_after_a_signal(
    terminal: Terminal, cluster: SimulatorProcess, number: signal.Signals
) -> None:
    Ui(terminal, "--bootstrap-server", cluster.bootstrap).start()
    terminal.signal(number)
    assert terminal.status() == 128 + number
    terminal.check_clean()


def test_the_program_exits_after_sigcont_and_sighup_from_a_closing_terminal(
    terminal: Terminal, cluster: SimulatorProcess
) -> None:
    """When a terminal is closed, the kernel sends SIGHUP, and also SIGCONT, which wakes a suspended program.

    The program must exit even if it is not suspended and SIGCONT arrives first.
    """
    Ui(terminal, "--bootstrap-server", cluster.bootstrap).start()
    terminal.signal(signal.SIGCONT)
    terminal.signal(signal.SIGHUP)
    assert terminal.status() == 128 + signal.SIGHUP
    terminal.check_clean()


@pytest.mark.parametrize("typed", [b"", b"f" * 100], ids=["still", "busy"])
def test_the_program_exits_without_sighup_if_its_terminal_is_closed(
    tmp_path: Path, cluster: SimulatorProcess, typed: bytes
) -> None:
    """The terminal is not the program's controlling terminal, as in some containers, so no SIGHUP is sent.

    The program must notice that the terminal is closed when it tries to read or write.
    """
    parent, child = pty.openpty()
    program = subprocess.Popen(
        [PROGRAM, "--bootstrap-server", cluster.bootstrap],
        stdin=child,
        stdout=child,
        stderr=child,
        env=clean_environment(tmp_path) | {"TERM": "xterm-256color"},
        start_new_session=True,
    )
    os.close(child)
    try:
        drawn = b""
        while b"classic" not in drawn:
            drawn += os.read(parent, 1 << 16)
        if typed:
            os.write(parent, typed)
            time.sleep(1.0)
        os.close(parent)
        assert program.wait(60) == 128 + signal.SIGHUP
    finally:
        program.kill()
        program.wait()


def test_ctrl_z_suspends_the_program_and_fg_redraws_the_screen(terminal: Terminal, cluster: SimulatorProcess) -> None:
    """While the program is suspended, the modes of the terminal are normal, so that the user can work in the shell."""
    ui = Ui(terminal, "--bootstrap-server", cluster.bootstrap)
    ui.start()
    terminal.keys("C-z")
    terminal.wait_for(lambda _: terminal.at_prompt())
    terminal.enter("stty -a")
    modes = terminal.wait_for("echoke").replace(";", " ").split()
    assert {"echo", "icanon", "isig"} <= set(modes)
    terminal.enter("fg")
    ui.wait_until_complete()
    terminal.wait_for("classic")
    terminal.keys("q")
    assert terminal.status() == 0


def test_kgtui_demo_stops_the_simulator_when_the_terminal_ui_closes(terminal: Terminal) -> None:
    """`kgtui demo` starts a simulator process, which must have ended when `kgtui demo` exits."""
    Ui(terminal, "demo", "--brokers", "2").start()
    terminal.wait_for("classic")
    terminal.keys("q")
    assert terminal.status() == 0
    terminal.enter("pgrep -u $(id -u) -fc 'simulator .*--brokers=2 .*--scenario=company' || echo none")
    terminal.wait_for("none")


def test_kgtui_ls_prints_no_error_if_the_reader_of_its_pipe_exits(
    terminal: Terminal, cluster: SimulatorProcess
) -> None:
    """kgtui writes to `head -1`, which exits after one line, or to `true`, which exits immediately.

    kgtui must exit with 141, the exit code for SIGPIPE, or with 0 if it wrote all lines before `head` exited.
    """
    listing = f"{PROGRAM} ls --bootstrap-server {cluster.bootstrap} 2> ~/said"
    terminal.enter(f"{listing} | head -1; (exit ${{PIPESTATUS[0]}})")
    assert terminal.status() in {0, 128 + signal.SIGPIPE}
    assert "GROUP" in terminal.screen()
    assert (terminal.folder / "said").read_text() == ""
    terminal.enter(f"{listing} | true; (exit ${{PIPESTATUS[0]}})")
    assert terminal.status() == 128 + signal.SIGPIPE
    assert (terminal.folder / "said").read_text() == ""
