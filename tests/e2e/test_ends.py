"""However the program ends, the terminal is as it was before, and nothing is left behind on it."""

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
def test_a_key_ends_it(terminal: Terminal, cluster: SimulatorProcess, key: str) -> None:
    Ui(terminal, "--bootstrap-server", cluster.bootstrap).start()
    terminal.keys(key)
    assert terminal.status() == 0
    terminal.check_clean()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP], ids=lambda number: str(number.name))
def test_a_signal_ends_it(terminal: Terminal, cluster: SimulatorProcess, number: signal.Signals) -> None:
    Ui(terminal, "--bootstrap-server", cluster.bootstrap).start()
    terminal.signal(number)
    assert terminal.status() == 128 + number
    terminal.check_clean()


@pytest.mark.parametrize("typed", [b"", b"f" * 100], ids=["still", "busy"])
def test_it_ends_when_its_terminal_is_gone(tmp_path: Path, cluster: SimulatorProcess, typed: bytes) -> None:
    """Started with `setsid`, by a tool or in a container, no signal tells it; it must not read an end for ever.

    Nor may it wait for ever to write frames that were not taken any more before that.
    """
    here, there = pty.openpty()
    program = subprocess.Popen(
        [PROGRAM, "--bootstrap-server", cluster.bootstrap],
        stdin=there,
        stdout=there,
        stderr=there,
        env=clean_environment(tmp_path) | {"TERM": "xterm-256color"},
        start_new_session=True,
    )
    os.close(there)
    try:
        drawn = b""
        while b"customers.sync" not in drawn:
            drawn += os.read(here, 1 << 16)
        if typed:
            os.write(here, typed)
            time.sleep(1.0)
        os.close(here)
        assert program.wait(20) == 128 + signal.SIGHUP
    finally:
        program.kill()
        program.wait()


def test_ctrl_z_gives_the_shell_back_and_fg_returns(terminal: Terminal, cluster: SimulatorProcess) -> None:
    """The suspended program leaves a plain terminal, and draws all of its screen again."""
    ui = Ui(terminal, "--bootstrap-server", cluster.bootstrap)
    ui.start()
    terminal.keys("C-z")
    terminal.wait_for(lambda _: terminal.at_prompt())
    terminal.enter("stty -a")
    modes = terminal.wait_for("echoke").replace(";", " ").split()
    assert {"echo", "icanon", "isig"} <= set(modes)
    terminal.enter("fg")
    ui.wait_until_complete()
    terminal.wait_for("customers.sync")
    terminal.keys("q")
    assert terminal.status() == 0


def test_the_demo_ends_with_its_cluster(terminal: Terminal) -> None:
    """One command for a newcomer: a cluster, the UI on it, and neither process left over."""
    Ui(terminal, "demo", "--brokers", "2").start()
    terminal.wait_for("customers.sync")
    terminal.keys("q")
    assert terminal.status() == 0
    terminal.enter("pgrep -u $(id -u) -fc 'simulator .*--brokers=2 .*--scenario=company' || echo none")
    terminal.wait_for("none")


def test_the_reader_of_a_list_goes_away(terminal: Terminal, cluster: SimulatorProcess) -> None:
    """`ls | head` ends quietly, whatever `head` has not read."""
    terminal.enter(f"{PROGRAM} ls --bootstrap-server {cluster.bootstrap} 2> ~/said | head -1")
    assert terminal.status() == 0
    assert "GROUP" in terminal.screen()
    assert (terminal.folder / "said").read_text() == ""
