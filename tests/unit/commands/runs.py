"""Runs command lines: in this process, on a scripted cluster, or each in a process of its own."""

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


def kgtui(*words: str, patience: float = 60, **env: str) -> subprocess.CompletedProcess[str]:
    """A process that ran to its end.

    Args:
        patience: seconds that it may take.
        env: variables beside those of this process.
    """
    return subprocess.run(
        [sys.executable, "-m", "kgtui", *words],
        capture_output=True,
        text=True,
        timeout=patience,
        check=False,
        env={**os.environ, **env},
    )


class Ran(NamedTuple):
    """How a command line ended."""

    code: int
    out: str
    err: str


def runner(
    admin: ScriptedAdmin, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Callable[..., Ran]:
    """A function that runs a command line on this cluster."""

    @asynccontextmanager
    async def connected(_args: argparse.Namespace) -> AsyncIterator[ScriptedAdmin]:
        yield admin

    for command in ("check", "ls", "show"):
        monkeypatch.setattr(f"kgtui.commands.{command}.connected", connected)

    def run(*words: str) -> Ran:
        capfd.readouterr()
        code = main(words)
        return Ran(code, *capfd.readouterr())

    return run
