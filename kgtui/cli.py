"""The entry point of the command line. It reports an error as one line on stderr, and returns an exit code.

Exit codes::

    0    success
    1    the command failed, the result is incomplete, or `kgtui check` found an unhealthy group
    2    wrong usage or configuration
    3    no broker could be reached
    4    kgtui refused the action, because a safety check failed
    70   a bug in kgtui
    130  interrupted with Ctrl-C
    141  the program that reads stdout has exited

Slow modules are imported inside functions, so that commands start fast.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import kgtui
from kgtui.errors import CRASHED, KgtuiError, QueryError, UnreachableError, UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

INTERRUPTED = 130
PIPE_CLOSED = 141
ALIASES = ("groups",)
"""Commands with the same options as a script of Kafka: `kgtui groups` works like `kafka-groups.sh`."""

_NAMING_VARIABLES = (
    "KGTUI_BOOTSTRAP_SERVER",
    "KGTUI_CLUSTER",
    "KGTUI_COMMAND_CONFIG",
    "KGTUI_CONFIG_DIR",
    "KGTUI_STATE_DIR",
    "KGTUI_LAKE",
    "KGTUI_SPARK_JARS",
    "KGTUI_MAVEN_REPOSITORY",
)
"""Environment variables whose values name a cluster, a file or a folder.

If one of these variables is set but empty, kgtui refuses to run.
"""

_MOST_REASON_CHARACTERS = 2_000
"""Maximum length of an exception's text in the error message about a crash, in characters. Longer texts are cut off."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit code.

    Args:
        argv: the command-line arguments without the program name; None for `sys.argv[1:]`.
    """
    words = list(sys.argv[1:] if argv is None else argv)
    _reopen_closed_streams()
    try:
        code = _run(words)
    except KgtuiError as error:
        _complain(error)
        code = error.exit_code
    except KeyboardInterrupt:
        code = INTERRUPTED
    except BrokenPipeError:
        code = PIPE_CLOSED
    except SystemExit:  # argparse exits after it has printed a help text. Flush stdout, to report write errors.
        if failed := _flush(0):
            return failed
        raise
    except Exception as error:  # noqa: BLE001 - no caller could report the error
        code = _report_crash(error, words)
    return _flush(code)


def _reopen_closed_streams() -> None:
    """Open /dev/null in place of each standard stream that is closed, for example by `>&-` in a shell.

    Otherwise, the next opened file would get the stream's descriptor, and kgtui would write its output into this file.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            # /dev/null gets the lowest free descriptor, which is the descriptor of the closed stream. Open /dev/null
            # only for reading, so that writing output fails, and kgtui reports the failure instead of losing output.
            os.open(os.devnull, os.O_RDONLY)
            setattr(sys, name, open(number, "r" if name == "stdin" else "w", closefd=False))  # noqa: SIM115


def _flush(code: int) -> int:
    """Flush stdout, and return the exit code of the process.

    The exit code is normally `code`. But it is `PIPE_CLOSED` if the program that reads stdout has exited. And it is 1
    if `code` is 0 (success) although stdout or stderr could not be written.
    """
    from kgtui.output import redirect_to_devnull

    try:
        sys.stdout.flush()
    except BrokenPipeError:
        code = PIPE_CLOSED
    except OSError as error:
        _complain(KgtuiError(f"cannot write the output: {error.strerror or error}"))
        code = code or 1
    else:
        printing = sys.modules.get("kgtui.commands.printing")
        return code or int(printing is not None and printing.stderr_failed)
    # Redirect stdout to /dev/null. Otherwise, Python would flush stdout again at exit, and print an error message.
    redirect_to_devnull(sys.stdout)
    return code


def _run(words: list[str]) -> int:
    if words[:1] == ["--version"]:
        from kgtui.commands.printing import print_text

        print_text(f"kgtui {kgtui.__version__}\n")
        return 0
    _check_variables()
    if words and words[0] in ALIASES:
        from kgtui.commands import kafka_groups

        return kafka_groups.main(words[1:])
    from kgtui.commands.parser import parse_args, run_command

    return run_command(parse_args(words))


def _check_variables() -> None:
    """Raise `UsageError` if a variable in `_NAMING_VARIABLES` is empty.

    Otherwise, kgtui would use a default, for example a cluster that the user did not mean.
    """
    for name in _NAMING_VARIABLES:
        if not os.environ.get(name, "unset").strip():
            raise UsageError(f"the environment variable {name} is empty; set it to a value, or unset it")


def _complain(error: KgtuiError) -> None:
    from kgtui.commands.printing import notify

    notify(_sentence(error))


def _sentence(error: KgtuiError) -> str:
    """Return a one-line message for an error, which says what went wrong and what the user can do."""
    message = str(error)
    if isinstance(error, QueryError):
        expected = f"; {error.expected}" if error.expected else ""
        return f"filter, at character {error.position + 1}: {message}{expected}"
    if isinstance(error, UnreachableError):
        from kgtui.config import ASSUMED

        # If the user has not named a cluster, say how to name one. Otherwise, add no advice, because the reasons why
        # the connections failed already say what the user can change.
        advice = ["try --bootstrap-server HOST:PORT, or kgtui demo"] if message.startswith(ASSUMED) else []
        return "; ".join([message, *error.other_reasons(), *advice])
    return f"{message} ({error.advice})" if error.advice else message


def _report_crash(error: BaseException, words: Sequence[str]) -> int:
    """Write a crash report to a file, or to stderr if the file cannot be written. Return the exit code."""
    from kgtui.commands.printing import notify, print_error
    from kgtui.config import state_folder
    from kgtui.config.crash import report_of, write_report
    from kgtui.model.text import redact

    reason = redact(f"{type(error).__name__}: {error}".replace("\n", " "))[:_MOST_REASON_CHARACTERS]
    command = _without_values(words)
    try:
        path = write_report(error, state_folder().crashes, command)
    except OSError as failed:
        print_error(report_of(error, command))
        notify(f"internal error: {reason} (the crash report could not be written: {failed.strerror or failed})")
        return CRASHED
    notify(f"internal error: {reason}; please report this bug and attach {path}, which contains no secrets")
    return CRASHED


def _without_values(words: Sequence[str]) -> str:
    """Return the command line for a crash report, with `…` in place of each value.

    Only the command and the option names remain, because the values of options can be secrets.
    """
    options = [word.partition("=")[0] if word.startswith("-") else "…" for word in words[1:]]
    first = words[:1] if words and not words[0].startswith("-") else []
    return " ".join(["kgtui", *first, *options])
