"""Programs that run the pipeline, one after the other, beside the tests that do not need them."""

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

from kgtui.lake.schemas import GOLD
from tests import jars

if TYPE_CHECKING:
    from concurrent.futures import Future
    from pathlib import Path

STEPS = ("started", "reading the files", "decoding", *(f"computing gold/{table.name}" for table in GOLD))
"""What the program says at its steps."""

_PATIENCE = 800.0


class Beside:
    """Starts programs in the background; asked for what became of one, it waits for its end.

    Args:
        folder: for their lakes.
        recorded: the lake that each begins with a copy of.
        records: files that each reads.
        remote: where those that are not killed find Spark Connect; the others start what they need.
    """

    def __init__(self, folder: Path, recorded: Path, records: Path, remote: str) -> None:
        self._folder, self._recorded, self._records, self._remote = folder, recorded, records, remote
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="beside")
        self._kills: dict[int, Future[tuple[list[Path], int]]] = {}
        self._undisturbed: Future[Path] | None = None
        self._running: subprocess.Popen[str] | None = None

    def start(self, *kills: int) -> None:
        """Begin: on one lake none is killed; each number is of lakes on which programs are killed, so many in all."""
        self._undisturbed = self._pool.submit(lambda: self._finish(self._lake("undisturbed")))
        self._kills = {number: self._pool.submit(self._kill, number) for number in kills}

    def killed(self, kills: int) -> tuple[list[Path], int]:
        """Lakes on which programs were killed until one came to its end; and how many were still at work."""
        return self._kills[kills].result()

    def undisturbed(self) -> Path:
        """A lake that one program worked on, to its end."""
        assert self._undisturbed is not None
        return self._undisturbed.result()

    def stop(self) -> None:
        """Leave nothing behind."""
        self._pool.shutdown(wait=False, cancel_futures=True)
        if self._running is not None:
            _end(self._running)

    def _kill(self, kills: int) -> tuple[list[Path], int]:
        random, killed = Random(kills), 0
        lakes = [self._lake(f"killed-{kills}")]
        for number in range(kills):
            # One of two is killed while it reads, through a server of its own, the other while it computes.
            steps, more = (STEPS[3:], ()) if number % 2 else (STEPS[:3], ("local[2]",))
            if self._kill_after(random.choice(steps), random.uniform(0, 5), lakes[-1], *more):
                killed += 1
            else:  # the next one would find nothing to do
                lakes.append(self._lake(f"killed-{kills}-{len(lakes)}"))
        self._finish(lakes[-1])
        return lakes, killed

    def _lake(self, name: str) -> Path:
        return shutil.copytree(self._recorded, self._folder / name)

    def _kill_after(self, step: str, seconds: float, lake: Path, *more: str) -> bool:
        """Kill a program and its JVM some time after it came to a step; whether it was still at work."""
        program = self._begin(lake, *more)
        try:
            assert program.stdout is not None
            if any(line.startswith(step) for line in program.stdout):
                try:
                    program.wait(seconds)
                except subprocess.TimeoutExpired:
                    return True
            assert program.wait(_PATIENCE) == 0
            return False
        finally:
            _end(program)

    def _finish(self, lake: Path) -> Path:
        """Let a program come to its end."""
        program = self._begin(lake, self._remote)
        try:
            told, _ = program.communicate(timeout=_PATIENCE)
        finally:
            _end(program)
        assert told.endswith("done\n"), told
        return lake

    def _begin(self, lake: Path, *more: str) -> subprocess.Popen[str]:
        """A program; it and its JVM, if it has one, are a process group."""
        self._running = subprocess.Popen(
            [sys.executable, "-m", "tests.spark.working", str(lake), str(self._records), *more],
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
            env=os.environ | {"KGTUI_SPARK_JARS": str(jars.spark_folder()), "KGTUI_SPARK_MEMORY": "700m"},
        )
        os.setpriority(os.PRIO_PROCESS, self._running.pid, 19)  # the tests are not to wait for it
        return self._running


def _end(program: subprocess.Popen[str]) -> None:
    """Kill a program with its JVM, if they are still there."""
    with suppress(ProcessLookupError):
        os.killpg(program.pid, signal.SIGKILL)
    program.wait()
    if program.stdout is not None:
        program.stdout.close()
