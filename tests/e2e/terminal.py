"""A terminal of a known size with a shell in it, controlled through tmux.

::

    with Terminal(tmp_path, size=(80, 24)) as terminal:
        terminal.start("demo", "--seed=1")
        terminal.wait_for("LIVE")
        terminal.keys("Down", "Enter")
        terminal.keys("q")
        assert terminal.status() == 0
        terminal.check_clean()

Each terminal has its own tmux server, home folder, configuration folder and state folder.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import time
import uuid
from pathlib import Path
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    import signal
    from collections.abc import Callable, Iterable, Mapping
    from types import TracebackType

PROGRAM = str(Path(sys.executable).with_name("kgtui"))
"""Path of the installed `kgtui` program, which the tests start."""

TIMEOUT = 60.0
"""Default maximum time to wait for a text on the screen, in seconds. It is long, because the machine can be busy."""

_PAUSE = 0.03
"""Time between two reads of the screen while a method waits for a text, in seconds."""

_TMUX = """
set -g status off
set -g default-terminal tmux-256color
set -g history-limit 5000
set -g remain-on-exit off
set -s set-clipboard on
set -s escape-time 0
"""
_PROMPT = re.compile(r"^<(\d+) (\d+)>\s*$")
"""Matches the shell's prompt, which contains the exit code of the last command and the number of the next command."""


def clean_environment(folder: Path) -> dict[str, str]:
    """Return the environment variables for a program whose home folder is `folder`.

    The settings of the user who runs the tests have no effect on this program.
    """
    return {
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), "/usr/local/bin", "/usr/bin", "/bin"]),
        "HOME": str(folder),
        "LANG": "C.UTF-8",
        "TZ": "UTC",
        "KGTUI_CONFIG_DIR": str(folder / "config"),
        "KGTUI_STATE_DIR": str(folder / "state"),
    }


class Terminal:
    """A shell in a terminal that tmux emulates.

    Attributes:
        folder: home folder of the programs in the terminal.
        size: numbers of columns and rows when the terminal starts.
    """

    def __init__(
        self, folder: Path, *, size: tuple[int, int] = (120, 40), environment: Mapping[str, str] | None = None
    ) -> None:
        """Set the properties of a terminal. The terminal starts when the `with` block begins.

        Args:
            folder: home folder of the programs.
            size: numbers of columns and rows.
            environment: environment variables in addition to those of `clean_environment`.
        """
        self.folder = folder
        self.size = size
        self._environment = clean_environment(folder) | dict(environment or {})
        self._name = f"kgtui-{uuid.uuid4().hex[:12]}"
        self._entered = 0  # Number of the last command that was entered, as the shell counts commands.

    @property
    def state(self) -> Path:
        """Path of kgtui's state folder, which contains the audit log and the backups."""
        return self.folder / "state"

    @property
    def config(self) -> Path:
        """Path of kgtui's configuration folder."""
        return self.folder / "config"

    def __enter__(self) -> Self:
        self.folder.mkdir(parents=True, exist_ok=True)
        conf = self.folder / "tmux.conf"
        conf.write_text(_TMUX, encoding="utf-8")
        width, height = self.size
        variables = [f"{name}={value}" for name, value in self._environment.items()]
        shell = ["env", "-i", "TERM=tmux-256color", r"PS1=<$? \#> ", *variables, "bash", "--norc", "--noprofile", "-i"]
        self._tmux("-f", str(conf), "new-session", "-d", "-x", str(width), "-y", str(height), shlex.join(shell))
        self.wait_for(lambda _: self.at_prompt())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        socket = Path(self._asked("socket_path"))
        # Killing the tmux server sends SIGHUP to the programs in the terminal, as closing a terminal window does.
        subprocess.run(["tmux", "-L", self._name, "kill-server"], check=False, capture_output=True)
        socket.unlink(missing_ok=True)

    def start(self, *arguments: str) -> None:
        """Start kgtui with the command-line arguments `arguments`. Do not wait until kgtui shows its screen."""
        self.enter(shlex.join([PROGRAM, *arguments]))

    def enter(self, line: str) -> None:
        """Wait for the shell's prompt, and enter a command that clears the screen and then runs `line`."""
        self._entered = self._wait_for_prompt(TIMEOUT)[1]
        self._tmux("clear-history")
        self.type(f"clear; {line}")
        self.keys("Enter")

    def type(self, text: str) -> None:
        """Type `text` without pressing enter."""
        self._tmux("send-keys", "-l", "--", text)

    def keys(self, *names: str) -> None:
        """Press the keys `names`, one after the other.

        `names` are the names that tmux uses, such as `Enter`, `Escape`, `Down`, `PPage`, `C-c` and `d`.
        """
        for name in names:
            self._tmux("send-keys", "--", name)

    def paste(self, text: str) -> None:
        """Paste `text` in bracketed paste mode."""
        self._tmux("set-buffer", "-b", "pasted", "--", text)
        self._tmux("paste-buffer", "-b", "pasted", "-p", "-d")

    def click(self, column: int, row: int) -> None:
        """Press and release the left mouse button on a cell. The numbers of columns and rows start at 0."""
        for end in "Mm":
            self._tmux("send-keys", "-l", "--", f"\x1b[<0;{column + 1};{row + 1}{end}")

    def resize(self, width: int, height: int) -> None:
        """Change the size of the terminal to `width` columns and `height` rows."""
        self._tmux("resize-window", "-x", str(width), "-y", str(height))

    def screen(self) -> str:
        """Return the text on the screen, one line per row."""
        return self._tmux("capture-pane", "-p")

    def screen_with_colors(self) -> str:
        """Return the screen with its colors as escape sequences."""
        return self._tmux("capture-pane", "-p", "-e")

    def screen_and_history(self) -> str:
        """Return the lines that have scrolled off the screen, followed by the text on the screen."""
        return self._tmux("capture-pane", "-p", "-S", "-")

    @property
    def title(self) -> str:
        return self._asked("pane_title")

    def clipboard(self) -> str:
        """Return the text that was last copied with the escape sequence OSC 52; empty if nothing was copied."""
        shown = subprocess.run(
            ["tmux", "-L", self._name, "show-buffer"], check=False, capture_output=True, timeout=TIMEOUT
        )
        return shown.stdout.decode("utf-8", "surrogateescape")

    def wait_for(self, expected: str | Callable[[str], object], timeout: float = TIMEOUT) -> str:
        """Wait until the screen matches `expected`, and return the screen's text.

        Args:
            expected: text that must be on the screen, or a function that checks the screen's text.
            timeout: maximum seconds to wait.

        Raises:
            AssertionError: the screen did not match `expected` in time; the message contains the screen's text.
        """
        screen = self._until(lambda screen: _holds(expected, screen), timeout)
        if screen is None:
            what = repr(expected) if isinstance(expected, str) else "the expected state"
            raise AssertionError(f"{what} did not appear within {timeout:g} s. The screen:\n{self._framed()}")
        return screen

    def wait_until_gone(self, text: str, timeout: float = TIMEOUT) -> str:
        """Wait until `text` is no longer on the screen, and return the screen's text.

        Raises:
            AssertionError: `text` was still on the screen after `timeout` seconds.
        """
        screen = self._until(lambda screen: text not in screen, timeout)
        if screen is None:
            raise AssertionError(f"{text!r} was still on the screen after {timeout:g} s. The screen:\n{self._framed()}")
        return screen

    def row_of(self, text: str) -> int:
        """Return the index of the first row of the screen that contains `text`."""
        return next(row for row, line in enumerate(self.screen().split("\n")) if text in line)

    def pid(self) -> int:
        """Return the process id of the program that runs in the shell; fail if no program runs."""
        shell = self._asked("pane_pid")
        children = subprocess.run(["pgrep", "-P", shell], check=False, capture_output=True, text=True).stdout.split()
        if not children:
            raise AssertionError(f"the shell runs no program. The screen:\n{self._framed()}")
        return int(children[0])

    def signal(self, number: signal.Signals) -> None:
        """Send the signal `number` to the program that runs in the shell."""
        os.kill(self.pid(), number)

    def at_prompt(self) -> bool:
        """Return whether the shell is waiting for a command."""
        return self._prompt(self.screen()) is not None

    def status(self, timeout: float = TIMEOUT) -> int:
        """Wait until the program in the shell has ended, and return its exit code."""
        return self._wait_for_prompt(timeout)[0]

    def check_clean(self, allowed: Iterable[str] = ()) -> None:
        """Assert that the program has ended, has restored the terminal, and has left no text on the screen.

        A restored terminal shows the cursor, echoes keys, and sends no mouse events.

        Args:
            allowed: lines that the program may leave on the screen.
        """
        assert self._asked("alternate_on") == "0", "the terminal still shows the alternate screen"
        assert self._asked("cursor_flag") == "1", "the cursor is hidden"
        assert self._asked("mouse_any_flag") == "0", "the program still receives mouse events"
        left = [line for line in self.screen_and_history().splitlines() if line.strip() and not _PROMPT.match(line)]
        assert left == list(allowed), f"the program left text on the terminal: {left}"
        self.enter("stty -a")
        modes = set(self.wait_for(lambda screen: "echoke" in screen and self.at_prompt()).replace(";", " ").split())
        expected = {"echo", "icanon", "isig", "icrnl", "opost", "ixon"}
        assert expected <= modes, f"terminal modes that the program did not turn on again: {expected - modes}"

    def _wait_for_prompt(self, timeout: float) -> tuple[int, int]:
        """Wait until the shell's last command has ended; return its exit code and the number of the next command."""
        prompt = self._prompt(self.wait_for(self._prompt, timeout))
        assert prompt is not None
        return prompt

    def _prompt(self, screen: str) -> tuple[int, int] | None:
        """Read the shell's prompt on `screen`; return None while a command runs.

        Return the exit code of the last command and the number of the next command.
        """
        match = _PROMPT.match(screen.rstrip("\n").split("\n")[-1])
        return (int(match[1]), int(match[2])) if match and int(match[2]) > self._entered else None

    def _until(self, true: Callable[[str], object], timeout: float) -> str | None:
        deadline = time.monotonic() + timeout
        while True:
            screen = self.screen()
            if true(screen):
                return screen
            if time.monotonic() > deadline:
                return None
            time.sleep(_PAUSE)

    def _framed(self) -> str:
        return "\n".join(f"  | {line}" for line in self.screen().rstrip("\n").split("\n"))

    def _asked(self, variable: str) -> str:
        return self._tmux("display-message", "-p", f"#{{{variable}}}").strip()

    def _tmux(self, *arguments: str) -> str:
        done = subprocess.run(
            ["tmux", "-u", "-L", self._name, *arguments],
            check=False,
            capture_output=True,
            timeout=TIMEOUT,
            env={**os.environ, "LANG": "C.UTF-8"},
        )
        if done.returncode:
            raise AssertionError(f"tmux {arguments[0]}: {done.stderr.decode(errors='replace').strip()}")
        return done.stdout.decode("utf-8", "replace")


def _holds(expected: str | Callable[[str], object], screen: str) -> object:
    return expected in screen if isinstance(expected, str) else expected(screen)
