"""Run kgtui commands in tests.

`kgtui` runs a command in a separate process. `runner` runs commands in this process, on a fake
cluster (`ScriptedAdmin`).
"""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, NamedTuple

from kgtui.cli import main

if TYPE_CHECKING:
    import argparse
    from collections.abc import AsyncIterator, Callable

    import pytest

    from tests.scripted import ScriptedAdmin


def kgtui(*words: str, timeout: float = 60, **env: str) -> subprocess.CompletedProcess[str]:
    """Run `kgtui` in a separate process.

    Args:
        words: command line arguments.
        timeout: maximum duration in seconds.
        env: additional environment variables.
    """
    return subprocess.run(
        [sys.executable, "-m", "kgtui", *words],
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
        env={**os.environ, **env},
    )


class Completed(NamedTuple):
    """Exit code of a command line, and what the command wrote to stdout and stderr."""

    code: int
    out: str
    err: str


def runner(
    admin: ScriptedAdmin, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Callable[..., Completed]:
    """Return a function that runs `kgtui check`, `ls` or `show` in this process, on the fake cluster `admin`.

    The arguments of the function are the words of the command line, for example `run("ls", "--lag")`.
    """

    @asynccontextmanager
    async def connected(_args: argparse.Namespace) -> AsyncIterator[ScriptedAdmin]:
        yield admin

    for command in ("check", "ls", "show"):
        monkeypatch.setattr(f"kgtui.commands.{command}.connected", connected)

    def run(*words: str) -> Completed:
        capfd.readouterr()
        code = main(words)
        return Completed(code, *capfd.readouterr())

    return run
