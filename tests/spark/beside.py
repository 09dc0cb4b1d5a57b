"""Programs that run the pipeline in JVMs of their own, one after the other, beside the tests that do not need them."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from random import Random
from typing import TYPE_CHECKING

from kgtui.history.schemas import GOLD
from tests import jars

if TYPE_CHECKING:
    from concurrent.futures import Future
    from pathlib import Path

STEPS = ("started", "reading the files", "decoding", *(f"making gold/{table.name}" for table in GOLD))
"""What the program says at its steps."""

_PATIENCE = 800.0


class Beside:
    """Starts programs in the background; asked for what became of one, it waits for its end.

    Args:
        folder: for their lakes.
        recorded: the lake that each begins with a copy of.
        records: files that each reads.
    """

    def __init__(self, folder: Path, recorded: Path, records: Path) -> None:
        self._folder, self._recorded, self._records = folder, recorded, records
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="beside")
        self._kills: dict[int, Future[tuple[Path, int]]] = {}
        self._connected: Future[tuple[Path, str]] | None = None
        self._running: subprocess.Popen[str] | None = None

    def start(self, *kills: int) -> None:
        """Begin: each number is of a lake on which a program is killed as often; and a run through Spark Connect."""
        self._kills = {number: self._pool.submit(self._kill, number) for number in kills}
        self._connected = self._pool.submit(self._connect)

    def killed(self, kills: int) -> tuple[Path, int]:
        """A lake that programs were killed on, and how many of them were still at work."""
        return self._kills[kills].result()

    def connected(self) -> tuple[Path, str]:
        """A lake that was worked on through Spark Connect, and what the program said."""
        assert self._connected is not None
        return self._connected.result()

    def stop(self) -> None:
        """Leave nothing behind."""
        self._pool.shutdown(wait=False, cancel_futures=True)
        if self._running is not None:
            _end(self._running)

    def _kill(self, kills: int) -> tuple[Path, int]:
        lake = shutil.copytree(self._recorded, self._folder / f"killed-{kills}")
        random, killed = Random(kills), 0
        for number in range(kills):
            # One of two is killed while it reads, the other while it computes.
            step = random.choice(STEPS[3:] if number % 2 else STEPS[:3])
            killed += self._kill_after(lake, step, random.uniform(0, 5))
        return lake, killed

    def _kill_after(self, lake: Path, step: str, seconds: float) -> bool:
        """Kill a program and its JVM some time after it came to a step; whether it was still at work."""
        program = self._begin(lake)
        try:
            assert program.stdout is not None
            assert any(line.startswith(step) for line in program.stdout), f"it never came to {step}"
            program.wait(seconds)
        except subprocess.TimeoutExpired:
            return True
        finally:
            _end(program)
        return False

    def _connect(self) -> tuple[Path, str]:
        lake = shutil.copytree(self._recorded, self._folder / "connect")
        program = self._begin(lake, "local[2]")
        try:
            told, _ = program.communicate(timeout=_PATIENCE)
        finally:
            _end(program)
        return lake, told

    def _begin(self, lake: Path, *more: str) -> subprocess.Popen[str]:
        """The program, with its JVM in a process group of its own."""
        self._running = subprocess.Popen(
            [sys.executable, "-m", "tests.spark.working", str(lake), str(self._records), *more],
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
            env=os.environ | {"KGTUI_SPARK_JARS": str(jars.spark_folder()), "KGTUI_SPARK_MEMORY": "700m"},
        )
        return self._running


def _end(program: subprocess.Popen[str]) -> None:
    """Kill a program with its JVM, if they are still there."""
    with suppress(ProcessLookupError):
        os.killpg(program.pid, signal.SIGKILL)
    program.wait()
    if program.stdout is not None:
        program.stdout.close()
