"""No secret of a login is in outputs, logs, tracebacks, crash reports, screens, exports, recordings or process lists.

Every login of `LOGINS` is a file of client properties with which kgtui logs in to a real broker. Each file also has
secrets of all other kinds, which kgtui must ignore or refuse without showing them. `Markers` searches for all of them.
"""

from __future__ import annotations

import asyncio
import io
import logging
import shlex
import sys
import traceback
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from kgtui.cli import main
from kgtui.client import session
from kgtui.config import read_properties
from kgtui.config.properties import filled_in
from kgtui.errors import KgtuiError
from kgtui.pipeline import requirements
from tests.brokers.config import write_properties
from tests.e2e.secret_logins import LOGINS, WITH_TOKEN_ENDPOINT, Login, connect
from tests.e2e.terminal import PROGRAM, Terminal
from tests.e2e.ui import Ui
from tests.secret_markers import Markers, add_unused
from tests.token_server import token_server

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.brokers.secure import Secure

GROUP = "team-a-app"
CONNECT_TOKEN = "S3cret+connect"


@dataclass(repr=False)
class Place:
    """A login, its properties file, and the folders in which kgtui runs.

    Attributes:
        login: the login.
        config: path of the properties file.
        home: folder with the configuration and state folders of kgtui. No file in it may contain a secret.
        markers: finds the secrets of the login.
        wrong_address: address of a listener of the same broker on which the login fails.
        tls_address: address of the listener for client certificates.
    """

    login: Login
    config: Path
    home: Path
    markers: Markers
    wrong_address: str
    tls_address: str


@pytest.fixture(params=LOGINS)
def place(
    request: pytest.FixtureRequest, secure_broker: Secure, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Place]:
    """A login with which kgtui can log in to the broker."""
    inputs, home = tmp_path / "inputs", tmp_path / "home"
    inputs.mkdir()
    home.mkdir()
    with ExitStack() as stack:
        more = [stack.enter_context(token_server())] if request.param in WITH_TOKEN_ENDPOINT else []
        login = LOGINS[request.param](secure_broker, inputs, *more)
        add_unused(login.properties, login.secrets)
        login.secrets["token in the URL of Spark Connect"] = CONNECT_TOKEN
        config = write_properties(inputs / "client.properties", login.properties)
        for name, value in {
            "KGTUI_CONFIG_DIR": str(home / "config"),
            "KGTUI_STATE_DIR": str(home / "state"),
            **login.variables,
        }.items():
            monkeypatch.setenv(name, value)
        yield Place(login, config, home, Markers(login.secrets), secure_broker.cluster.bootstrap, secure_broker.tls)


@contextmanager
def everything_logged() -> Iterator[io.StringIO]:
    """Yield a buffer that receives all log records of all levels, without the redaction of kgtui's log file."""
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


def run(place: Place, capfd: pytest.CaptureFixture[str], *words: str, address: str = "", expect: int | None = 0) -> str:
    """Run a command with the login and `--debug` in this process, and assert that its outputs contain no secret.

    Return the output. `expect` is the expected exit code, or None for any.
    """
    where = ("--bootstrap-server", address or place.login.address, "--command-config", str(place.config))
    # The options are given before the command, because subcommands such as `lake status` do not have them.
    line = (*words, *where) if words[0] == "groups" else (*where, "--debug", "--timeout", "20", *words)
    with everything_logged() as log:
        code = main(line)
    out, err = capfd.readouterr()
    place.markers.check(f"the output of {words}", out + err)
    place.markers.check(f"the log of {words}", log.getvalue())
    assert expect is None or code == expect, err
    return out + err


SHORT = (
    ("ls", "--format", "json"),
    ("show", GROUP, "--format", "table"),
    ("doctor", "--format", "json"),
)
"""Commands that run with every login."""

LONG = (
    *(("ls", "--lag", "--members", "--format", kind) for kind in ("table", "json", "csv", "wide")),
    *(("show", GROUP, "--format", kind) for kind in ("table", "json", "csv", "wide")),
    *(("check", GROUP, "--for", "0.2s", "--interval", "0.1s", "--format", kind) for kind in ("table", "json", "csv")),
    *(("delete", GROUP, "--dry-run", "--format", kind) for kind in ("table", "json")),
    *((command, "--format", kind) for command in ("backups", "audit", "clusters") for kind in ("table", "json")),
    ("doctor", "--format", "table"),
    ("groups", "--list"),
    ("groups", "--list", "--format", "json"),
    ("record", "{lake}", "--interval", "1", "--for", "3"),
    *(("ls", "--lake", "{lake}", "--format", kind) for kind in ("table", "json", "csv", "wide")),
    ("lake", "status", "{lake}", "--format", "json"),
    ("insights", "--lake", "{lake}", "--format", "json"),
    ("report", "{lake}", "-o", "-"),
    ("pipeline", "run", "--lake", "{lake}", "--remote", f"sc://127.0.0.1:1/;token={CONNECT_TOKEN}"),
)
"""All commands with all formats. `{lake}` stands for the folder of a recording."""


def test_outputs_and_logs_of_commands_contain_no_secret(place: Place, capfd: pytest.CaptureFixture[str]) -> None:
    for words in SHORT:
        # The user of the client certificate may not see topics, so that some results are incomplete.
        output = run(place, capfd, *words, expect=None if place.login.address == place.tls_address else 0)
        assert words[0] == "doctor" or GROUP in output
    run(place, capfd, "doctor", address="127.0.0.1:1", expect=3)
    assert place.markers.check_files(place.home) >= 1


def run_all_commands(place: Place, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(requirements, "_SERVER_TIMEOUT", 0.2)
    lake = place.home / "lake"
    is_restricted = place.login.address == place.tls_address
    for words in LONG:
        expect = None if words[0] in ("insights", "report", "check", "pipeline") or is_restricted else 0
        run(place, capfd, *(word.format(lake=lake) for word in words), expect=expect)
    assert place.markers.check_files(place.home) > 10


@pytest.mark.full
def test_outputs_of_all_commands_and_formats_contain_no_secret(
    place: Place, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    run_all_commands(place, capfd, monkeypatch)


@pytest.mark.parametrize("place", ["config-providers"], indirect=True)
def test_outputs_and_recordings_contain_no_secret(
    place: Place, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    run_all_commands(place, capfd, monkeypatch)


def test_tracebacks_and_crash_reports_contain_no_secret(
    place: Place, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The error of a failed login may be printed by a program with the Python API, even with its local variables."""
    properties = filled_in(read_properties(place.config), "file", place.config.parent)

    for address in (place.wrong_address, "127.0.0.1:1"):
        with pytest.raises(KgtuiError) as caught:
            asyncio.run(connect(address, properties))
        trace = traceback.TracebackException.from_exception(caught.value, capture_locals=True)
        place.markers.check(f"the traceback at {address}", "".join(trace.format()))

    async def crash(transport: Any, *arguments: object, **options: object) -> None:
        raise RuntimeError(f"injected {transport.settings} {transport.settings!r} {arguments} {options}")

    monkeypatch.setattr(session, "log_in", crash)
    assert "injected" in run(place, capfd, "ls", expect=70)
    place.markers.check_files(place.home)
    (report,) = (place.home / "state").rglob("crash-*")
    assert "injected" in report.read_text()


CRASHING = """
import sys
from kgtui.cli import main
from kgtui.client.client_settings import from_properties
from kgtui.config import read_properties
from kgtui.tui.dialogs import export

def crash(*arguments, **options):
    properties = read_properties(sys.argv[-1])
    password = properties["sasl.jaas.config"]
    raise RuntimeError(f"injected {properties} {from_properties(properties)}")

export.ExportDialog.__init__ = crash
sys.exit(main(sys.argv[1:]))
"""
"""A program that starts kgtui, whose terminal UI ends with an unexpected error when a group is exported."""


@pytest.mark.parametrize("place", ["PLAIN"], indirect=True)
def test_no_secret_is_on_screens_in_exports_or_in_the_process_list(place: Place) -> None:
    words = ("--debug", "--bootstrap-server", place.login.address, "--command-config", str(place.config))
    with Terminal(place.home) as terminal:

        def check() -> str:
            screen = terminal.screen_and_history()
            place.markers.check("the screen", screen + terminal.title + terminal.clipboard())
            return screen

        ui = Ui(terminal, *words)
        ui.start()
        check()
        ui.select(GROUP)
        terminal.keys("R")
        terminal.wait_for("enter starts recording")
        terminal.keys("Enter")
        terminal.wait_for("● REC")
        for key in "123456":
            terminal.keys(key)
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
        _check_processes(place)
        terminal.keys("Escape")
        terminal.wait_until_gone("Written to ")
        terminal.keys("q")
        assert terminal.status() == 0
        check()
        program = place.config.with_name("crashing.py")
        program.write_text(CRASHING)
        terminal.enter(shlex.join([sys.executable, str(program), *words]))
        ui.wait_until_complete()
        ui.select(GROUP)
        terminal.keys("x")
        assert terminal.status() == 70
        assert "internal error (RuntimeError)" in check()
    assert place.markers.check_files(place.home) > 5
    (report,) = place.home.rglob("crash-*")
    assert "injected" in report.read_text()
    assert list(place.home.rglob("*.parquet"))


def _check_processes(place: Place) -> None:
    """Assert that no command line and no environment of a process that kgtui runs in contains a secret."""
    mine = [
        process
        for process in Path("/proc").glob("[0-9]*")
        if str(place.home) in _content(process / "environ").decode("utf-8", "replace")
    ]
    if sys.platform == "linux":
        assert any(PROGRAM in _content(process / "cmdline").decode("utf-8", "replace") for process in mine)
    for process in mine:
        for name in ("cmdline", "environ"):
            place.markers.check(f"{name} of a process", _content(process / name))


def _content(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError:  # the process has ended, or belongs to another user
        return b""
