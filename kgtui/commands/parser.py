"""The options of every command. A command's own are read from its module when that command is the one asked for."""

from __future__ import annotations

import argparse
import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any, NoReturn

import kgtui
from kgtui.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence
    from types import ModuleType

    from kgtui.output.formats import Format

COMMANDS: dict[str, tuple[str, str]] = {
    "demo": ("kgtui.commands.demo", "the UI on a simulated cluster that kgtui brings along"),
    "ls": ("kgtui.commands.ls", "every group that matches a filter"),
    "show": ("kgtui.commands.show", "one group, or a few, in full"),
    "check": ("kgtui.commands.check", "watch groups for a while and say how they do, as an exit code too"),
    "record": ("kgtui.commands.record", "write what happens to every group into a lake, to replay it later"),
    "replay": ("kgtui.commands.replay", "the UI on any recorded moment"),
    "pipeline": ("kgtui.commands.pipeline", "from records and recordings to answers, by Spark"),
    "lake": ("kgtui.commands.lake", "what a lake holds; make it smaller, remove what is too old"),
    "insights": ("kgtui.commands.insights", "what is unhealthy, at risk, flapping, unusual or unused, by urgency"),
    "report": ("kgtui.commands.report", "the same with plots, as one HTML page for a post-mortem"),
    "delete": ("kgtui.commands.delete", "delete groups that are Empty, after a backup of their offsets"),
    "backups": ("kgtui.commands.backups", "backups made before deletions"),
    "audit": ("kgtui.commands.audit", "what was done, by whom, with which outcome"),
    "clusters": ("kgtui.commands.clusters", "the clusters that are configured"),
    "doctor": ("kgtui.commands.doctor", "what this cluster supports and what you may do"),
}
"""Command → its module and what it does."""

KAFKA_COMMANDS = {"groups": "options and output of Kafka's kafka-groups.sh"}
"""Commands with options of their own making: `kgtui.commands.kafka_groups`."""

HELP = frozenset(("-h", "--help"))

EPILOG = "Without a command: the UI. Filters, the same everywhere, are explained by `kgtui ls --help`."


class CommandParser(argparse.ArgumentParser):
    """A parser that raises our errors, and asks its command's module for options only when it is used."""

    def __init__(self, *, module: str | None = None, add_help: bool = True, **texts: Any) -> None:
        self._module = module
        self._epilog: Callable[[], str] | None = None
        super().__init__(allow_abbrev=False, add_help=add_help, **texts)

    def load(self) -> ModuleType | None:
        """Add the options of the command's module, once."""
        if self._module is None:
            return None
        module = import_module(self._module)
        self._module = None
        add_cluster_options(self, again=True)
        module.configure(self)
        self._epilog = getattr(module, "epilog", None)
        return module

    def format_help(self) -> str:
        """As argparse; a command whose epilog takes something to make has it as a function."""
        if self._epilog is not None:
            self.epilog = self._epilog()
        # Not before: argparse makes one for every option that is added.
        self.formatter_class = _formatter
        return super().format_help()

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """As argparse, after `load`; what a command does not know is its own error, which names its help."""
        self.load()
        found, rest = super().parse_known_args(args, namespace)
        if rest:
            self.error(f"unrecognized arguments: {' '.join(rest)}")
        return found, rest

    def error(self, message: str) -> NoReturn:
        """Raise instead of printing the usage and exiting."""
        raise UsageError(f"{message} (see {self.prog} --help)")


def _formatter(prog: str) -> argparse.HelpFormatter:
    """Coloured help on a terminal; made only when help is asked for."""
    if sys.stdout.isatty():
        from rich_argparse import RawDescriptionRichHelpFormatter

        return RawDescriptionRichHelpFormatter(prog, max_help_position=32)
    return argparse.RawDescriptionHelpFormatter(prog, max_help_position=32)


def add_cluster_options(parser: argparse.ArgumentParser, *, again: bool = False) -> None:
    """Options that every command takes; `again`: behind a command, where they override what stood before it."""
    unset: Any = argparse.SUPPRESS if again else None
    flag: Any = argparse.SUPPRESS if again else False
    group = parser.add_argument_group("cluster")
    where = group.add_mutually_exclusive_group()
    where.add_argument("--bootstrap-server", metavar="HOST:PORT", default=unset, help="brokers to start from, by comma")
    where.add_argument("--cluster", metavar="NAME", default=unset, help="a cluster of the configuration file")
    group.add_argument("--command-config", metavar="FILE", default=unset, help="Java client properties: how to log in")
    group.add_argument("--timeout", metavar="SECONDS", type=float, default=unset, help="for a whole command (30)")
    group.add_argument("--read-only", action="store_true", default=flag, help="leave out everything that writes")
    group.add_argument("--debug", action="store_true", default=flag, help="write more into the log file")


def build(prog: str = "kgtui", *, only: Collection[str] | None = None) -> CommandParser:
    """The whole parser, or one with `only` some of the commands; they load their options when used."""
    parser = CommandParser(
        prog=prog, description="Every group of a Kafka cluster, live, in a terminal.", epilog=EPILOG
    )  # fmt: skip
    parser.add_argument("--version", action="version", version=f"kgtui {kgtui.__version__}")
    parser.add_argument("--print-completion", choices=("bash", "zsh", "tcsh"), help="a completion script for a shell")
    add_cluster_options(parser)
    add_screen_options(parser)
    # A prog of its own, because argparse would format the usage to make one.
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", prog=prog, title="commands")
    for name, (module, summary) in COMMANDS.items():
        if only is None or name in only:
            commands.add_parser(name, module=module, help=summary, description=_sentence(summary))
    for name, summary in KAFKA_COMMANDS.items():
        if only is None:
            commands.add_parser(name, help=summary, add_help=False)
    return parser


def add_screen_options(parser: argparse.ArgumentParser, *, again: bool = False) -> None:
    """Options of the UI; `again` as in `add_cluster_options`."""
    unset: Any = argparse.SUPPRESS if again else None
    flag: Any = argparse.SUPPRESS if again else False
    group = parser.add_argument_group("screen")
    text: Any = argparse.SUPPRESS if again else ""
    group.add_argument("--filter", metavar="EXPR", default=text, help="show only groups that match")
    group.add_argument("--theme", metavar="NAME", default=unset, help="colours")
    group.add_argument(
        "--interval", metavar="SECONDS", type=float, default=unset, help="between two polls of a broker (2)"
    )
    group.add_argument("--ascii", action="store_true", default=flag, help="marks in ASCII only")
    group.add_argument("--no-mouse", action="store_true", default=flag, help="leave the mouse to the terminal")


def add_lake_options(parser: argparse.ArgumentParser) -> None:
    """Options of commands that can look at a recorded moment."""
    group = parser.add_argument_group("recording")
    group.add_argument("--lake", metavar="LAKE", help="what kgtui record has written, instead of a cluster")
    group.add_argument("--at", metavar="TIME", help="such as 2026-11-21T10:04:23Z, 10:04, or 15m before the end")


def add_format_option(parser: argparse.ArgumentParser, *formats: Format) -> None:
    """Add `--format` with these choices; the first one is the default."""
    from kgtui.output.formats import FORMATS

    about = "; ".join(f"{name}: {FORMATS[name]}" for name in formats)
    parser.add_argument("--format", choices=formats, default=formats[0], help=f"{about} ({formats[0]})")


def _sentence(summary: str) -> str:
    return summary[0].upper() + summary[1:] + "."


def parse_args(words: Sequence[str]) -> argparse.Namespace:
    """The options; `args.command` is None for the UI. Raises `UsageError`; `--help` prints and exits."""
    named = COMMANDS.keys() & set(words)
    about_all = not named and not HELP.isdisjoint(words)
    try:
        # A parser takes about as long to make as to use: those of commands that nobody names are left out.
        args = build(only=None if about_all else named).parse_args(list(words))
    except UsageError:
        args = build().parse_args(list(words))  # which knows every command that could have been meant
    if args.print_completion:
        args.command = "print-completion"
    return args


def run_command(args: argparse.Namespace) -> int:
    """Run what was asked for; the exit code."""
    if args.command == "print-completion":
        return _print_completion(args.print_completion)
    if args.debug and args.command not in (None, "demo"):
        from kgtui.commands.log_file import start_log

        start_log(debug=True)
    module = import_module(COMMANDS[args.command][0] if args.command else "kgtui.commands.ui")
    code: int = module.run(args)
    return code


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
