"""Places where kgtui could show a secret, such as outputs, logs and files.

Each function whose name begins with `in_` runs kgtui, and searches several of these places for secrets.
"""

from __future__ import annotations

import asyncio
import io
import logging
import re
import shlex
import sys
import traceback
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from kgtui.cli import main
from kgtui.client import login as login_module
from kgtui.client import session
from kgtui.config import read_properties
from kgtui.config.properties import filled_in
from kgtui.errors import KgtuiError
from kgtui.pipeline import requirements
from tests.e2e.secret_logins import Login, connect
from tests.e2e.terminal import PROGRAM, Terminal
from tests.e2e.ui import Ui

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.secret_markers import Markers

GROUP = "team-a-app"
CONNECT_TOKEN = "S3cret+connect"
_LONG_WORD = re.compile(rb"[!-~]{20,}")


@dataclass(repr=False)
class Prepared:
    """A login whose properties file has been written, and the folders that kgtui uses.

    Attributes:
        config: path of the properties file.
        home: folder with kgtui's configuration and state.
        markers: the secrets to search for.
        wrong_address: address of another listener of the same broker, on which the login fails.
        is_restricted: whether the user lacks permissions on topics.
        program: command that starts kgtui, split into words.
    """

    login: Login
    config: Path
    home: Path
    markers: Markers
    wrong_address: str
    is_restricted: bool
    program: tuple[str, ...] = (PROGRAM,)

    def check(self, where: str, data: bytes | str) -> None:
        """Assert that `data` contains no secret. The error message says that `data` comes from `where`."""
        self._add_created()
        self.markers.check(where, data)

    def check_files(self) -> int:
        """Assert that no file in kgtui's folders contains a secret; return the number of files that were searched."""
        self._add_created()
        return self.markers.check_files(self.home)

    def _add_created(self) -> None:
        for kind, secrets in self.login.created().items():
            for secret in secrets:
                self.markers.add(kind, secret)


@dataclass(repr=False)
class Tools:
    """The pytest fixtures with which a test runs kgtui and searches its output."""

    capfd: pytest.CaptureFixture[str]
    monkeypatch: pytest.MonkeyPatch
    request: pytest.FixtureRequest


def record_login_messages(prepared: Prepared, monkeypatch: pytest.MonkeyPatch) -> None:
    """From now on, add each SASL message that this process sends to the secrets that the test searches for.

    Also add each word of at least 20 characters in the message.
    """
    ask = login_module._ask

    async def recording(raw: Any, api: Any, fields: Any) -> Any:
        message = fields.get("AuthBytes", b"")
        if len(message) > len("n,,"):
            prepared.markers.add("message that kgtui sends during the login", message)
        if message.isascii():
            for word in _LONG_WORD.findall(message):
                prepared.markers.add("part of a message that kgtui sends during the login", word)
        return await ask(raw, api, fields)

    monkeypatch.setattr(login_module, "_ask", recording)


@contextmanager
def everything_logged() -> Iterator[io.StringIO]:
    """Yield a buffer that receives log records of all levels until the `with` block ends.

    Secrets in the buffer are not redacted, unlike secrets in kgtui's log file.
    """
    root, text = logging.getLogger(), io.StringIO()
    names = ("", "aiokafka", "aiokafka.conn", "asyncio", "kgtui")
    levels = {name: logging.getLogger(name).level for name in names}
    before = list(root.handlers)
    root.addHandler(logging.StreamHandler(text))
    for name in names:
        logging.getLogger(name).setLevel(logging.DEBUG)
    try:
        yield text
    finally:
        for handler in root.handlers[:]:
            if handler not in before:
                root.removeHandler(handler)
                handler.close()
        for name, level in levels.items():
            logging.getLogger(name).setLevel(level)


def run(prepared: Prepared, tools: Tools, *words: str, address: str = "", expect: int | None = 0) -> str:
    """Run a kgtui command in this process; return its output. Assert that its output and logs contain no secret.

    Args:
        address: address to connect to; by default the address of the login.
        expect: expected exit code; None for any.
    """
    where = ("--bootstrap-server", address or prepared.login.address, "--command-config", str(prepared.config))
    # Options such as `--bootstrap-server` come before the command. Only `kgtui groups` expects them after the command,
    # like Kafka's script `kafka-groups.sh`.
    line = (*words, *where) if words[0] == "groups" else (*where, "--debug", "--timeout", "20", *words)
    with everything_logged() as log:
        code = main(line)
    out, err = tools.capfd.readouterr()
    prepared.check(f"the output of {words}", out + err)
    prepared.check(f"the log of {words}", log.getvalue())
    assert expect is None or code == expect, err
    return out + err


def in_outputs_and_logs(prepared: Prepared, tools: Tools) -> None:
    """Run three commands that succeed and one that fails; search their outputs and logs for secrets."""
    for words in (
        ("ls", "--format", "json"),
        ("show", GROUP, "--format", "table"),
        ("doctor", "--format", "json"),
    ):
        output = run(prepared, tools, *words, expect=None if prepared.is_restricted else 0)
        assert words[0] == "doctor" or GROUP in output
    run(prepared, tools, "doctor", address="127.0.0.1:1", expect=3)
    assert prepared.check_files() >= 1


RECORDING = ("record", "{lake}", "--interval", "1", "--for", "3")
COMMANDS = (
    *(("ls", "--lag", "--members", "--format", kind) for kind in ("table", "json", "csv", "wide")),
    *(("show", GROUP, "--format", kind) for kind in ("table", "json", "csv", "wide")),
    *(("check", GROUP, "--for", "0.2s", "--interval", "0.1s", "--format", kind) for kind in ("table", "json", "csv")),
    *(("delete", GROUP, "--dry-run", "--format", kind) for kind in ("table", "json")),
    *((command, "--format", kind) for command in ("backups", "audit", "clusters") for kind in ("table", "json")),
    ("doctor", "--format", "table"),
    ("groups", "--list"),
    ("groups", "--list", "--format", "json"),
    RECORDING,
    *(("ls", "--lake", "{lake}", "--format", kind) for kind in ("table", "json", "csv", "wide")),
    ("lake", "status", "{lake}", "--format", "json"),
    ("insights", "--lake", "{lake}", "--format", "json"),
    ("report", "{lake}", "-o", "-"),
    ("pipeline", "run", "--lake", "{lake}", "--remote", f"sc://127.0.0.1:1/;token={CONNECT_TOKEN}"),
)
"""Command lines of kgtui, for most commands and most of their output formats.

`{lake}` is replaced with the folder of a recording.
"""


def in_all_outputs_and_recordings(prepared: Prepared, tools: Tools) -> None:
    """Run all `COMMANDS`; search their outputs and logs, and the files of a recording, for secrets."""
    tools.monkeypatch.setattr(requirements, "_SERVER_TIMEOUT", 0.2)
    for words in COMMANDS:
        is_open = words[0] in ("insights", "report", "check", "pipeline") or prepared.is_restricted
        line = (word.format(lake=prepared.home / "lake") for word in words)
        run(prepared, tools, *line, expect=None if is_open else 0)
        if words is RECORDING:
            assert prepared.check_files() > 10
    assert list(prepared.home.rglob("*.parquet"))
    prepared.check_files()


def in_tracebacks_and_crash_reports(prepared: Prepared, tools: Tools) -> None:
    """Search for secrets in the tracebacks of two failed connections, and in the report of a crash during a login.

    The tracebacks include local variables.
    """
    properties = filled_in(read_properties(prepared.config), "file", prepared.config.parent)

    for address in (prepared.wrong_address, "127.0.0.1:1"):
        with pytest.raises(KgtuiError) as caught:
            asyncio.run(connect(address, properties))
        trace = traceback.TracebackException.from_exception(caught.value, capture_locals=True)
        prepared.check(f"the traceback at {address}", "".join(trace.format()))

    async def crash(transport: Any, *arguments: object, **options: object) -> None:
        raise RuntimeError(f"injected {transport.settings} {transport.settings!r} {arguments} {options}")

    tools.monkeypatch.setattr(session, "log_in", crash)
    assert "injected" in run(prepared, tools, "ls", expect=70)
    prepared.check_files()
    (report,) = (prepared.home / "state").rglob("crash-*")
    assert "injected" in report.read_text()


CRASHING = """
import sys
from pathlib import Path
from kgtui.cli import main
from kgtui.client.client_settings import from_properties
from kgtui.config import read_properties
from kgtui.config.properties import filled_in
from kgtui.tui.dialogs import export

def crash(*arguments, **options):
    properties = filled_in(read_properties(sys.argv[-1]), "file", Path(sys.argv[-1]).parent)
    values = list(properties.values())
    raise RuntimeError(f"injected {properties} {from_properties(properties)}")

export.ExportDialog.__init__ = crash
sys.exit(main(sys.argv[1:]))
"""
"""A program that starts kgtui's terminal UI, which crashes when the user opens the export dialog."""


def in_screens_exports_and_processes(prepared: Prepared, _: Tools) -> None:
    """Run the terminal UI, and search for secrets in everything that it shows and writes.

    This includes the clipboard and the process list.
    """
    words = ("--debug", "--bootstrap-server", prepared.login.address, "--command-config", str(prepared.config))
    with Terminal(prepared.home) as terminal:
        _export_variables(prepared, terminal)

        def check() -> str:
            screen = terminal.screen_and_history()
            prepared.check("the screen", screen + terminal.title + terminal.clipboard())
            return screen

        def start(*program: str) -> None:
            terminal.enter(shlex.join([*program, *words]))
            ui.wait_until_complete()
            check()
            ui.select(GROUP)

        ui = Ui(terminal)
        start(*prepared.program)
        terminal.keys("R")
        terminal.wait_for("enter starts recording")
        terminal.keys("Enter")
        terminal.wait_for("● REC")
        terminal.wait_until_gone("enter starts recording")
        for key in "123456":
            ui.open_pane(key)
            check()
        for dialog in ("Y", "e"):
            terminal.keys(dialog)
            terminal.wait_for("esc closes")
            check()
            terminal.keys("Escape")
            terminal.wait_until_gone("esc closes")
        terminal.keys("x", "m")
        terminal.wait_for("Written to ")
        check()
        _check_processes(prepared)
        terminal.keys("Escape")
        terminal.wait_until_gone("Written to ")
        terminal.keys("q")
        assert terminal.status() == 0
        check()
        assert prepared.check_files() > 5
        program = prepared.config.with_name("crashing.py")
        program.write_text(CRASHING)
        start(sys.executable, str(program))
        terminal.keys("x")
        assert terminal.status() == 70
        assert "internal error (RuntimeError)" in check()
    prepared.check_files()
    (report,) = prepared.home.rglob("crash-*")
    assert "injected" in report.read_text()
    assert list(prepared.home.rglob("*.parquet"))


def _export_variables(prepared: Prepared, terminal: Terminal) -> None:
    """Set the login's environment variables in the shell, without writing their values on a command line."""
    file = prepared.config.with_name("variables.sh")
    file.write_text(
        "".join(f"export {name}={shlex.quote(value)}\n" for name, value in prepared.login.variables.items())
    )
    terminal.enter(f". {shlex.quote(str(file))}")
    assert terminal.status() == 0


def _check_processes(prepared: Prepared) -> None:
    """Assert that no process of kgtui has a secret on its command line or in its environment."""
    # Ignore the environment variables of the login, because the test uses them to pass secrets to kgtui.
    given = {f"{name}={value}".encode() for name, value in prepared.login.variables.items()}
    mine = [
        process
        for process in Path("/proc").glob("[0-9]*")
        if str(prepared.home) in content(process / "environ").decode("utf-8", "replace")
    ]
    if sys.platform == "linux":
        assert any(prepared.program[-1] in content(process / "cmdline").decode("utf-8", "replace") for process in mine)
    for process in mine:
        prepared.check("the command line of a process", content(process / "cmdline"))
        entries = set(content(process / "environ").split(b"\0"))
        prepared.check("the environment of a process", b"\0".join(entries - given))


def content(file: Path) -> bytes:
    """Return the content of a file in `/proc`, or empty bytes if the file cannot be read."""
    try:
        return file.read_bytes()
    except OSError:
        return b""


def in_spark_plans(prepared: Prepared, tools: Tools) -> None:
    """Search for secrets in the plans of a Spark query, and in the output of Spark.

    The query would log in to the broker and read `__consumer_offsets`. Spark only plans the query; it never runs.
    """
    from kgtui.pipeline.sources import OffsetsTopic, stream_topic

    properties = filled_in(read_properties(prepared.config), "file", prepared.config.parent)
    topic = OffsetsTopic((prepared.login.address,), {0: (0, 1)}, properties)
    prepared.check("the description of the topic", repr(topic))
    stream_topic(tools.request.getfixturevalue("spark"), topic).explain(extended=True)
    output = tools.capfd.readouterr()
    assert prepared.login.address in output.out
    prepared.check("the plan", output.out + output.err)


PLACES: dict[str, Callable[[Prepared, Tools], None]] = {
    "outputs and logs": in_outputs_and_logs,
    "tracebacks and crash reports": in_tracebacks_and_crash_reports,
    "command output and recordings": in_all_outputs_and_recordings,
    "screens, exports and processes": in_screens_exports_and_processes,
    "Spark plans": in_spark_plans,
}
"""Name of a group of places → function that runs kgtui, and asserts that these places contain no secret."""
