"""Lists all commands, and parses the command line. The module of a command is imported only if the user runs it."""

from __future__ import annotations

import argparse
import sys
from contextlib import suppress
from functools import cache
from importlib import import_module
from math import isfinite
from typing import TYPE_CHECKING, Any, NoReturn

import kgtui
from kgtui.errors import UsageError
from kgtui.lake import store
from kgtui.model import defaults

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence
    from types import ModuleType

    from kgtui.output.formats import Format

COMMANDS: dict[str, tuple[str, str]] = {
    "demo": ("kgtui.commands.demo", "open the terminal UI on a simulated cluster"),
    "ls": ("kgtui.commands.ls", "list every group that matches a filter"),
    "show": ("kgtui.commands.show", "show everything about one or more groups"),
    "check": ("kgtui.commands.check", "watch groups for a while, and fail if one of them is unhealthy"),
    "events": ("kgtui.commands.events", "print what changes in groups and brokers, as it happens or from a recording"),
    "record": ("kgtui.commands.record", "record all changes to all groups into a lake, to replay them later"),
    "replay": ("kgtui.commands.replay", "open the terminal UI on a recording, at any point in time"),
    "pipeline": ("kgtui.commands.pipeline", "compute the silver and gold tables of a lake with Spark"),
    "lake": ("kgtui.commands.lake", "show what a lake contains, compact it, delete old days"),
    "insights": (
        "kgtui.commands.insights",
        "list unhealthy, unusual and unused groups, most urgent first",
    ),
    "report": ("kgtui.commands.report", "write findings and plots into one HTML page, for a post-mortem"),
    "delete": ("kgtui.commands.delete", "delete Empty groups, after a backup of their offsets"),
    "backups": ("kgtui.commands.backups", "list the backups that were made before deletions"),
    "audit": ("kgtui.commands.audit", "show the audit log: who changed what, with which outcome"),
    "clusters": ("kgtui.commands.clusters", "list the configured clusters"),
    "doctor": ("kgtui.commands.doctor", "report what this cluster supports and what you are allowed to do"),
}
"""Name of each command → (name of its module, its description in help texts)."""

KAFKA_COMMANDS = {"groups": "same options and output as Kafka's kafka-groups.sh"}
"""Name of each command that imitates a Kafka script → its description in help texts.

The module `kgtui.commands.kafka_groups` parses their options.
"""

HELP = frozenset(("-h", "--help"))

EPILOG = "Without a command, kgtui opens the terminal UI. `kgtui ls --help` explains the filters that commands accept."


class CommandParser(argparse.ArgumentParser):
    """Parses the options of `kgtui` or of one command. On errors, it raises `UsageError` instead of exiting.

    Args:
        module: name of the command's module, which is imported only if the command is used. None for `kgtui` itself.
    """

    def __init__(self, *, module: str | None = None, add_help: bool = True, **texts: Any) -> None:
        self._module = module
        self._epilog: Callable[[], str] | None = None
        super().__init__(allow_abbrev=False, add_help=add_help, **texts)
        # Reject empty values of arguments without an explicit type. Otherwise, if the variable NAME is not set,
        # `--cluster "$NAME"` would select the default cluster. Filters can be empty, because they have the type `str`.
        self.register("type", None, _not_empty)

    def add_subparsers(self, **options: Any) -> Any:
        """Add subcommands.

        This parser does not reject empty arguments (`""`) after the name of a subcommand. The parser of the subcommand
        checks these arguments.
        """
        action = super().add_subparsers(**options)
        action.type = str
        return action

    def load(self) -> ModuleType | None:
        """Import and return the module of the command, and add the command's options.

        Returns None if there is no module, or if the options were already added.
        """
        if self._module is None:
            return None
        module = import_module(self._module)
        self._module = None
        add_cluster_options(self, again=True)
        module.configure(self)
        self._epilog = getattr(module, "epilog", None)
        return module

    def format_help(self) -> str:
        """Return argparse's help text. If the command's module has a function `epilog`, add its result at the end."""
        if self._epilog is not None:
            self.epilog = self._epilog()
        # Set the formatter only when a help text is needed. If it were set in the constructor, argparse would call
        # `_formatter` for each option that is added, and `_formatter` imports `rich_argparse`, which is slow.
        self.formatter_class = _formatter
        return super().format_help()

    def print_help(self, file: Any = None) -> None:
        """Print the help on stdout; `file` is ignored. Unlike argparse, raise an error if stdout cannot be written."""
        from kgtui.commands.printing import print_text

        print_text(self.format_help())

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Add the options of the command, then parse as argparse does.

        Raises `UsageError` for unknown options, and refers the user to `kgtui COMMAND --help`. If this method ignored
        unknown options, as in argparse, `parse_args` would report them and refer to `kgtui --help`.
        """
        self.load()
        found, rest = super().parse_known_args(args, namespace)
        terms = getattr(found, "expr", None)
        if isinstance(terms, list) and not any(word.startswith("-") for word in rest):
            # argparse rejects filter terms after an option, such as `b` in `kgtui ls a --lag b`. Accept them here.
            found.expr, rest = [*terms, *rest], []
        if rest:
            self.error(f"unrecognized arguments: {' '.join(rest)}")
        return found, rest

    def error(self, message: str) -> NoReturn:
        """Raise `UsageError`. Without this override, argparse would print the usage and exit."""
        raise UsageError(f"{message} (see {self.prog} --help)")


def group_id(text: str) -> str:
    """Check that a group id from the command line is not empty, and return it. Raises `ArgumentTypeError`."""
    if not text:
        raise argparse.ArgumentTypeError("the value is empty")
    return text


def _not_empty(text: str) -> str:
    if not text.strip():
        raise argparse.ArgumentTypeError("the value is empty")
    return text


class _Duration(argparse.Action):
    """Converts the value of an option, such as `90`, `90s` or `2m`, to seconds.

    Raises `UsageError` if the value is not a duration above 0.
    """

    def __call__(self, parser: object, namespace: argparse.Namespace, values: Any, option: str | None = None) -> None:
        from kgtui.commands.time_options import parse_duration

        setattr(namespace, self.dest, parse_duration(option or self.dest, values))


def _formatter(prog: str) -> argparse.HelpFormatter:
    """Return the formatter of help texts, which uses colors on a terminal."""
    if sys.stdout.isatty():
        from rich_argparse import RawDescriptionRichHelpFormatter

        return RawDescriptionRichHelpFormatter(prog, max_help_position=32)
    return argparse.RawDescriptionHelpFormatter(prog, max_help_position=32)


def add_cluster_options(parser: argparse.ArgumentParser, *, again: bool = False) -> None:
    """Add the options under the help heading `cluster`, such as `--timeout`.

    On the command line, these options can precede or follow the name of the command.

    Args:
        again: True for the parser of a command, False for the parser of `kgtui`. The options of a command get no
            defaults. Otherwise, in `kgtui --timeout 5s ls`, the default would replace the given value.
    """
    unset: Any = argparse.SUPPRESS if again else None
    flag: Any = argparse.SUPPRESS if again else False
    group = parser.add_argument_group("cluster")
    where = group.add_mutually_exclusive_group()
    where.add_argument(
        "--bootstrap-server",
        metavar="HOST:PORT",
        default=unset,
        help="brokers to connect to first, separated by commas",
    )
    where.add_argument("--cluster", metavar="NAME", default=unset, help="name of a cluster in the configuration file")
    group.add_argument(
        "--command-config", metavar="FILE", default=unset, help="file with Java client properties, such as credentials"
    )
    group.add_argument(
        "--timeout",
        metavar="TIME",
        action=_Duration,
        default=unset,
        help=f"time limit for reading from the cluster, such as 90s or 2m (default: {defaults.TIMEOUT:g}s); check, "
        "events, record and delete apply it to each read",
    )
    group.add_argument(
        "--read-only", action="store_true", default=flag, help="refuse all actions that change the cluster"
    )
    group.add_argument("--debug", action="store_true", default=flag, help="write debug messages to the log file")


def build(prog: str = "kgtui", *, only: Collection[str] | None = None) -> CommandParser:
    """Return the parser of the command line.

    Args:
        only: names of the commands to add to the parser; None for all commands. Each command that is left out saves
            time.
    """
    parser = CommandParser(
        prog=prog, description="Shows and manages every group of a Kafka cluster.", epilog=EPILOG
    )  # fmt: skip
    parser.add_argument("--version", action="version", version=f"kgtui {kgtui.__version__}")
    parser.add_argument(
        "--print-completion", choices=("bash", "zsh", "tcsh"), help="print a completion script for a shell"
    )
    add_cluster_options(parser)
    add_ui_options(parser)
    # Pass `prog`, because argparse would otherwise derive it from the usage text, and creating this text takes time.
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", prog=prog, title="commands")
    for name, (module, summary) in COMMANDS.items():
        if only is None or name in only:
            commands.add_parser(name, module=module, help=summary, description=_sentence(summary))
    for name, summary in KAFKA_COMMANDS.items():
        if only is None:
            commands.add_parser(name, help=summary, add_help=False)
    return parser


def add_ui_options(parser: argparse.ArgumentParser, *, again: bool = False) -> None:
    """Add the options of the terminal UI. On the command line, they can precede or follow the name of the command.

    Args:
        again: True for the parser of a command, False for the parser of `kgtui`. The options of a command get no
            defaults. Otherwise, in `kgtui --interval 5s demo`, the default would replace the given value.
    """
    unset: Any = argparse.SUPPRESS if again else None
    flag: Any = argparse.SUPPRESS if again else False
    group = parser.add_argument_group("terminal UI")
    text: Any = argparse.SUPPRESS if again else ""
    group.add_argument(
        "--filter", type=str, metavar="EXPR", default=text, help="show only groups that match the filter"
    )
    group.add_argument("--theme", metavar="NAME", default=unset, help="color theme")
    group.add_argument(
        "--interval",
        metavar="TIME",
        type=seconds,
        default=unset,
        help=f"time between two polls of a broker (default: {defaults.POLL_INTERVAL:g}s)",
    )
    group.add_argument("--ascii", action="store_true", default=flag, help="use ASCII characters only")
    group.add_argument("--no-mouse", action="store_true", default=flag, help="do not capture the mouse")


def seconds(text: str) -> float:
    """Convert a duration on the command line, such as `5`, `5s` or `2m`, to seconds.

    The caller must check the result, because a number without a unit can be 0 or negative.

    Raises `ArgumentTypeError` if the text is neither a finite number nor a duration above 0.
    """
    with suppress(ValueError):
        if isfinite(number := float(text)):
            return number
    from kgtui.commands.time_options import parse_duration

    try:
        return parse_duration("", text)
    except UsageError as error:
        raise argparse.ArgumentTypeError(f"{text!r} is not a duration above 0, such as 5s or 2m") from error


def add_lake_options(parser: argparse.ArgumentParser) -> None:
    """Add `--lake` and `--at`, for commands that can read a recording."""
    group = parser.add_argument_group("recording")
    group.add_argument("--lake", metavar="LAKE", help="read this recording instead of a cluster")
    group.add_argument(
        "--at",
        metavar="TIME",
        help="time in the recording: 2026-11-21T10:04:23Z, 10:04, or 15m for 15 min before its end",
    )


def add_format_option(parser: argparse.ArgumentParser, *formats: Format) -> None:
    """Add the option `--format`. Its choices are `formats`, and the first format is the default."""
    from kgtui.output.formats import FORMATS

    about = "; ".join(f"{name}: {FORMATS[name]}" for name in formats)
    parser.add_argument("--format", choices=formats, default=formats[0], help=f"{about} (default: {formats[0]})")


def _sentence(summary: str) -> str:
    return summary[0].upper() + summary[1:] + "."


def parse_args(words: Sequence[str]) -> argparse.Namespace:
    """Parse the command line. For `--help`, print the help and exit.

    The attribute `command` of the result is the name of the command; None if no command is given. For the option
    `--print-completion`, it is `print-completion`.

    Raises `UsageError` if the command line is wrong.
    """
    named = COMMANDS.keys() & set(words)
    about_all = not named and not HELP.isdisjoint(words)
    try:
        # Creating parsers is slow. Create parsers only for commands whose names are in the command line, or for all
        # commands if the user asks for the help of `kgtui` itself.
        args = build(only=None if about_all else named).parse_args(list(words))
    except UsageError:
        # After an error, parse again with all commands, so that the error message lists all commands.
        args = build().parse_args(list(words))
    if args.print_completion:
        args.command = "print-completion"
    return args


def run_command(args: argparse.Namespace) -> int:
    """Run the parsed command and return its exit code."""
    if args.command == "print-completion":
        return _print_completion(args.print_completion)
    # Start the log if `--debug` is given. The terminal UI (`None`), `demo`, `record` and `replay` start it themselves.
    if args.debug and args.command not in (None, "demo", "record", "replay"):
        from kgtui.commands.log_file import start_log

        start_log(debug=True)
    store.configured_options = _storage_options
    module = import_module(COMMANDS[args.command][0] if args.command else "kgtui.commands.ui")
    code: int = module.run(args)
    return code


@cache
def _storage_options() -> dict[str, dict[str, str]]:
    from kgtui.config import storage_options

    return storage_options()


def _print_completion(shell: str) -> int:
    import shtab

    from kgtui.commands.printing import print_text

    parser = build()
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for command in action.choices.values():
                command.load()
    print_text(shtab.complete(parser, shell) + "\n")
    return 0
