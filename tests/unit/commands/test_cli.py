"""Tests of the command `kgtui` itself: exit codes, error messages of one line, crash reports, and imported modules."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

import kgtui
from kgtui import cli
from kgtui.commands import parser
from kgtui.commands.connecting import timeout_of
from kgtui.commands.printing import notify
from kgtui.config import ASSUMED
from kgtui.errors import CRASHED, ConnectError, RefusedError, UnreachableError
from kgtui.simulator import Options, spawn

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(autouse=True)
def _own_folders(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("KGTUI_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setenv("KGTUI_CONFIG_DIR", str(tmp_path / "config"))
    for name in ("KGTUI_CLUSTER", "KGTUI_BOOTSTRAP_SERVER", "KGTUI_COMMAND_CONFIG", "KGTUI_READ_ONLY"):
        monkeypatch.delenv(name, raising=False)


def modules_loaded_by(*words: str) -> set[str]:
    """Run the command line `words` in a new process, and return the names of all modules that the process loads."""
    code = (
        "import sys; from kgtui.cli import main\n"
        f"try: main({list(words)!r})\n"
        "except SystemExit: pass\n"
        "print(*sorted(sys.modules), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stderr.splitlines()[-1].split())


HEAVY = {"textual", "aiokafka", "asyncio", "re2", "rich", "rich_argparse", "shtab", "msgspec"}


def test_printing_the_version_or_the_help_imports_no_large_module() -> None:
    assert not modules_loaded_by("--version") & (HEAVY | {"argparse"})
    assert not modules_loaded_by("--help") & HEAVY
    assert not modules_loaded_by("groups", "--help") & (HEAVY | {"argparse"})
    assert not modules_loaded_by("ls", "--help") & (HEAVY - {"asyncio"})


def test_kgtui_ls_without_a_filter_imports_no_unused_modules() -> None:
    loaded = modules_loaded_by("ls", "--bootstrap-server", "127.0.0.1:1")
    assert "aiokafka" in loaded
    assert not loaded & {"textual", "rich", "re2", "shtab", "csv", "msgspec", "kgtui.model.query", "kgtui.model.facts"}
    assert not loaded & {
        "tomllib",
        "javaproperties",
        "kgtui.client.properties",
        "kgtui.client.tls",
    }
    assert not loaded & {"kgtui.commands.show", "kgtui.commands.delete", "kgtui.actions", "kgtui.monitor"}


def test_connecting_to_a_cluster_imports_only_the_connection_module_of_aiokafka() -> None:
    """kgtui does not use aiokafka's consumer and producer, whose modules are slow to import."""
    loaded = modules_loaded_by("ls", "--bootstrap-server", "127.0.0.1:1")
    assert "aiokafka.conn" in loaded
    assert not loaded & {"aiokafka.client", "aiokafka.cluster", "aiokafka.consumer", "aiokafka.producer"}


def test_running_a_command_creates_no_argument_parsers_of_other_commands(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []
    init = parser.CommandParser.__init__

    def noting(self: parser.CommandParser, **texts: Any) -> None:
        made.append(texts["prog"])
        init(self, **texts)

    monkeypatch.setattr(parser.CommandParser, "__init__", noting)
    assert parser.parse_args(["ls", "--lag"]).command == "ls"
    assert made == ["kgtui", "kgtui ls"]


def test_kgtui_prints_its_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["--version"]) == 0
    assert capsys.readouterr().out == f"kgtui {kgtui.__version__}\n"


def test_kgtui_and_every_command_can_print_their_help(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        cli.main(["--help"])
    assert ended.value.code == 0
    out = capsys.readouterr().out
    for name, (_, summary) in parser.COMMANDS.items():
        assert name in out
        assert summary.split(",")[0] in re.sub(r"\s+", " ", out)
        with pytest.raises(SystemExit) as ended:
            cli.main([name, "--help"])
        assert ended.value.code == 0
        assert f"usage: kgtui {name}" in capsys.readouterr().out


def test_the_help_of_kgtui_ls_explains_filter_terms(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        cli.main(["ls", "--help"])
    out = capsys.readouterr().out
    for term in ("lag:1k+", "type:consumer", "sort:lag-", "fault:yes", "topic:"):
        assert term in out


@pytest.mark.parametrize("shell", ["bash", "zsh", "tcsh"])
def test_the_shell_completion_script_contains_commands_and_options(
    shell: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["--print-completion", shell]) == 0
    out = capsys.readouterr().out
    for word in ("ls", "show", "delete", "doctor", "groups", "bootstrap-server"):
        assert word in out
    # The package shtab generates the scripts. Its tcsh script does not complete options of commands such as `kgtui ls`.
    for option in ("--lag", "--scenario"):
        assert shell == "tcsh" or option in out


def test_bash_accepts_the_shell_completion_script(capsys: pytest.CaptureFixture[str]) -> None:
    cli.main(["--print-completion", "bash"])
    script = capsys.readouterr().out
    done = subprocess.run(["bash", "-n"], input=script, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_an_unreachable_cluster_is_reported_with_addresses_and_exit_code_3(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert cli.main(["ls", "--bootstrap-server", "127.0.0.1:1"]) == 3
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("kgtui: ")
    assert err.count("\n") == 1
    assert "127.0.0.1:1" in err
    assert "kgtui demo" not in err


@pytest.mark.parametrize(
    ("error", "code", "line"),
    [
        (RefusedError("pay has 3 members: stop them first"), 4, "kgtui: pay has 3 members: stop them first\n"),
        (UnreachableError("nobody answers", (("a:1", "refused"),)), 3, "kgtui: nobody answers; a:1: refused\n"),
        (UnreachableError(f"{ASSUMED}, and no"), 3, f"kgtui: {ASSUMED}, and no; try --bootstrap-server HOST:PORT, or"),
        (
            UnreachableError("no", (("a:1", "a:1 refused"), ("b:1", "late"), ("b:1", "late"))),
            3,
            "kgtui: no; a:1 refused; b:1: late\n",
        ),
        (ConnectError("a\nb \x1b[31m", broker=1), 1, r"kgtui: a\nb \x1b[31m"),
    ],
)
def test_each_error_of_a_command_prints_one_line_without_control_characters(
    error: Exception, code: int, line: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(_args: object) -> int:
        raise error

    monkeypatch.setattr(parser, "run_command", fail)
    assert cli.main(["ls"]) == code
    err = capsys.readouterr().err
    assert err.startswith(line)
    assert err.count("\n") == 1
    assert "Traceback" not in err


def test_a_crash_report_contains_no_secrets(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    def fail(_args: object) -> int:
        password = "hunter2"
        raise ValueError(f"cannot use sasl.password={password} here")

    monkeypatch.setattr(parser, "run_command", fail)
    assert cli.main(["ls", "--command-config", "/secret/place"]) == CRASHED
    err = capsys.readouterr().err
    (report,) = (tmp_path / "state").iterdir()
    assert str(report) in err
    assert err.count("\n") == 1
    assert report.stat().st_mode & 0o777 == 0o600
    text = report.read_text()
    assert "ValueError" in text
    assert "kgtui ls --command-config" in text
    assert "in fail" in text
    for shown in (text, err):
        assert "hunter2" not in shown
        assert "/secret/place" not in shown
        assert "sasl.password=[removed]" in shown


def test_a_crash_is_described_on_stderr_if_the_crash_report_cannot_be_written(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "state").write_text("in the way")
    monkeypatch.setattr(parser, "run_command", lambda _args: 1 // 0)
    assert cli.main(["ls"]) == CRASHED
    assert "ZeroDivisionError" in capsys.readouterr().err


def test_ctrl_c_ends_a_command_with_exit_code_130_and_without_output(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(_args: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(parser, "run_command", interrupted)
    assert cli.main(["ls"]) == 130
    assert capsys.readouterr() == ("", "")


def test_command_exits_silently_with_141_if_its_output_pipe_is_closed() -> None:
    """For example, `head` closes the pipe in `kgtui ls | head`. 141 is 128 plus the number of the signal SIGPIPE."""
    code = "import sys, kgtui.cli as c; sys.exit(c.main(['--print-completion', 'bash']))"
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.close()
    _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (128 + signal.SIGPIPE, b"")


def test_symbols_are_replaced_if_the_encoding_of_stdout_is_ascii() -> None:
    env = {**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    code = "from kgtui.commands.printing import print_text, notify; print_text('≥ 5 – é\\n'); notify('– 東')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, env=env, check=True)
    assert done.stdout == b">= 5 - \\xe9\n"
    assert done.stderr == b"kgtui: - \\u6771\n"


def test_kgtui_rejects_unknown_commands_and_options(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["lst"]) == 2
    assert "invalid choice: 'lst'" in capsys.readouterr().err
    assert cli.main(["--bootstrap", "x"]) == 2
    assert cli.main(["--bootstrap-server", "a:1", "--cluster", "b", "ls"]) == 2
    assert "not allowed with argument" in capsys.readouterr().err


def test_invalid_filter_or_interval_is_rejected_before_the_terminal_ui_opens(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert cli.main(["--filter", "stat:x"]) == 2
    assert "did you mean state?" in capsys.readouterr().err
    assert cli.main(["--interval", "-1"]) == 2


@pytest.mark.parametrize(
    ("words", "help_of"),
    [
        (("--nope",), "kgtui"),
        (("ls", "--nope"), "kgtui ls"),
        (("lake", "status", "/nowhere", "--nope"), "kgtui lake status"),
    ],
)
def test_error_for_an_unknown_option_says_how_to_show_help(
    words: tuple[str, ...], help_of: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(words) == 2
    assert capsys.readouterr().err == f"kgtui: unrecognized arguments: --nope (see {help_of} --help)\n"


@pytest.mark.parametrize(
    "words",
    [
        ["--bootstrap-server", ""],
        ["ls", "--bootstrap-server", ""],
        ["delete", "old", "--cluster="],
        ["ls", "--command-config", " "],
        ["ls", "--lake", ""],
        ["show", ""],
        ["delete", "--group", ""],
        ["record", ""],
        ["replay", "lake", "--at", ""],
        ["pipeline", "run", "--lake", ""],
    ],
    ids=" ".join,
)
def test_empty_names_of_clusters_groups_and_files_are_rejected(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """A script can pass an empty variable as a name by mistake.

    If kgtui used a default in place of an empty name, the command could change the wrong cluster.
    """
    assert cli.main(words) == 2
    assert "the value is empty" in capsys.readouterr().err


@pytest.mark.parametrize("name", cli._NAMING_VARIABLES)
def test_an_empty_environment_variable_for_a_cluster_or_file_is_rejected(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(name, " ")
    assert cli.main(["ls"]) == 2
    assert f"the environment variable {name} is empty" in capsys.readouterr().err


def test_kgtui_commands_accept_a_group_id_that_is_one_space() -> None:
    assert parser.parse_args(["show", " "]).groups == [" "]
    assert parser.parse_args(["delete", "--group", " "]).group == [" "]


def test_filter_terms_can_follow_an_option_of_kgtui_ls() -> None:
    args = parser.parse_args(["ls", "type:share", "--lag", "sort:lag-", "--format", "json", "state:Empty"])
    assert args.expr == ["type:share", "sort:lag-", "state:Empty"]


def test_an_empty_filter_matches_all_groups() -> None:
    assert parser.parse_args(["ls", "", "--filter", ""]).expr == [""]


@pytest.mark.parametrize("redirection", [">/dev/full", ">&-"])
@pytest.mark.parametrize("command", ["--version", "--help", "ls --help", "groups --version", "clusters --format json"])
def test_command_that_cannot_write_to_stdout_exits_with_1(command: str, redirection: str, tmp_path: Path) -> None:
    ran = shell(f"{sys.executable} -m kgtui {command} {redirection}", tmp_path)
    assert ran.returncode == 1
    reason = "No space left on device" if redirection == ">/dev/full" else "Bad file descriptor"
    assert ran.stderr == f"kgtui: cannot write the output: {reason}\n"


@pytest.mark.parametrize("redirection", ["2>/dev/full", "2>&-"])
def test_result_is_printed_to_stdout_even_if_stderr_is_unusable(redirection: str, tmp_path: Path) -> None:
    """`kgtui ls` prints the groups to stdout.

    The exit code is 1, because kgtui cannot print its warning about an unknown client property to stderr.
    """
    properties = tmp_path / "client.properties"
    properties.write_text("sasl.mechanismm=PLAIN\n")
    with spawn(Options(brokers=1, groups=5)) as cluster:
        options = f"--bootstrap-server {cluster.bootstrap} --command-config {properties}"
        ran = shell(f"{sys.executable} -m kgtui ls {options} {redirection}", tmp_path)
    assert len(ran.stdout.splitlines()) > 5
    assert (ran.returncode, ran.stderr) == (1, "")


def shell(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run `command` in bash, with kgtui's configuration and state folders inside `folder`."""
    env = {**os.environ, "KGTUI_CONFIG_DIR": str(folder / "config"), "KGTUI_STATE_DIR": str(folder / "state")}
    return subprocess.run(["bash", "-c", command], capture_output=True, text=True, env=env, timeout=60, check=False)


@pytest.mark.parametrize(
    ("words", "expected"), [("45", 45), ("0.5", 0.5), ("30s", 30), ("2m", 120), ("1.5h", 5_400), (None, 30)]
)
def test_option_timeout_is_a_number_of_seconds_or_a_duration_with_a_unit(words: str | None, expected: float) -> None:
    options = [] if words is None else ["--timeout", words]
    assert timeout_of(parser.parse_args([*options, "ls"])) == expected
    assert timeout_of(parser.parse_args(["ls", *options])) == expected


def test_the_middle_of_a_very_long_message_is_omitted(capsys: pytest.CaptureFixture[str]) -> None:
    notify("begin" + "\x1b[31mx" * 10_000 + "end")
    err = capsys.readouterr().err
    assert err.startswith("kgtui: begin")
    assert err.endswith("end\n")
    assert "characters left out" in err
    assert "\x1b" not in err
    assert len(err) < 20_000
