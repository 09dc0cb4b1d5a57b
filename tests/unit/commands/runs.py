"""Runs command lines in this process, on a scripted cluster."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, NamedTuple

from kgtui.cli import main

if TYPE_CHECKING:
    import argparse
    from collections.abc import AsyncIterator, Callable

    import pytest

    from tests.scripted import ScriptedAdmin


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
