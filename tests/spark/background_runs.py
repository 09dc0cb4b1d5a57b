"""Run the pipeline in background processes, one at a time, while other tests run."""

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
from tests.spark.standalone_cluster import StandaloneCluster

if TYPE_CHECKING:
    from concurrent.futures import Future
    from pathlib import Path

STEPS = ("started", "reading the files", "decoding", *(f"computing gold/{table.name}" for table in GOLD))
"""Names of the steps of a pipeline run, in order.

When a step begins, `pipeline_program` prints a line that starts with the name of the step.
"""

_TIMEOUT = 800.0


class BackgroundRuns:
    """Runs the pipeline in background processes.

    In a series, each run is killed, except the last one. The next run continues on the same lake (folder of tables).
    If a run ends before it could be killed, the next run gets a new lake.

    Methods that return results wait until the runs have ended.

    Args:
        folder: folder for the lakes of all runs.
        recording: folder of a lake with recorded polls of a cluster. Each new lake is a copy of this lake.
        records: folder with Parquet files of `__consumer_offsets` records.
        connect_url: URL of the Spark Connect server for the last run of each series.

    Attributes:
        cluster_python_starts: how many times the `python3` of the standalone cluster was started; 0 until the run on
            the cluster has ended.
        cluster_executors: how many executors the cluster has started; 0 until the run on the cluster has ended.
    """

    def __init__(self, folder: Path, recording: Path, records: Path, connect_url: str) -> None:
        self._folder, self._recording, self._records, self._connect_url = folder, recording, records, connect_url
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="background-runs")
        self._killed: dict[int, Future[tuple[list[Path], int]]] = {}
        self._uninterrupted: Future[Path] | None = None
        self._running: subprocess.Popen[str] | None = None
        self.cluster_python_starts = self.cluster_executors = 0

    def start(self, *kills: int) -> None:
        """Start one run on a standalone cluster, and one series of runs on this machine for each number in `kills`.

        Args:
            kills: for each series, how many of its runs to kill. After these runs, one more run completes the lake.
        """
        self._uninterrupted = self._pool.submit(self._run_on_cluster)
        self._killed = {number: self._pool.submit(self._run_with_kills, number) for number in kills}

    def killed(self, kills: int) -> tuple[list[Path], int]:
        """Return the lakes that one series of runs has completed, and how many of the runs were actually killed.

        The series has only one lake, unless a run ended before it could be killed: the next run then used a new lake.

        Args:
            kills: number of planned kills that was passed to `start` for this series.
        """
        return self._killed[kills].result()

    def uninterrupted(self) -> Path:
        """Return the lake of the run on the standalone cluster. This run is not killed."""
        assert self._uninterrupted is not None
        return self._uninterrupted.result()

    def stop(self) -> None:
        """Cancel all runs that have not begun, and kill the run that is in progress."""
        self._pool.shutdown(wait=False, cancel_futures=True)
        if self._running is not None:
            _kill(self._running)

    def _run_with_kills(self, kills: int) -> tuple[list[Path], int]:
        random, killed = Random(kills), 0
        lakes = [self._new_lake(f"killed-{kills}")]
        for number in range(kills):
            # Kill run `number` at most 5 s after a random step has begun: an even run in one of the first two steps, an
            # odd run in a later step. Runs 1, 2, 5, 6, … start a Spark Connect server.
            steps = STEPS[2:] if number % 2 else STEPS[:2]
            target = ("local[2]",) if number % 4 in (1, 2) else ()
            if self._kill_after(random.choice(steps), random.uniform(0, 5), lakes[-1], *target):
                killed += 1
            else:  # The run completed its lake before it could be killed, so the next run needs a new lake.
                lakes.append(self._new_lake(f"killed-{kills}-{len(lakes)}"))
        self._run_to_the_end(lakes[-1], self._connect_url)
        return lakes, killed

    def _run_on_cluster(self) -> Path:
        with StandaloneCluster(self._folder / "cluster") as cluster:
            lake = self._run_to_the_end(self._new_lake("uninterrupted"), cluster.url)
            self.cluster_python_starts, self.cluster_executors = cluster.python_starts, cluster.executors
        return lake

    def with_killed_executors(self, *steps: str) -> Path:
        """Run the pipeline on a new standalone cluster, kill executors during the run, and return the completed lake.

        Args:
            steps: names in `STEPS`. When one of these steps begins, one executor is killed.
        """
        return self._pool.submit(self._run_with_killed_executors, steps).result()

    def _run_with_killed_executors(self, steps: tuple[str, ...]) -> Path:
        lake, pending = self._new_lake("killed-executors"), list(steps)
        with StandaloneCluster(self._folder / "cluster-with-kills") as cluster:
            program = self._start_program(lake, cluster.url)
            try:
                assert program.stdout is not None
                for line in program.stdout:
                    step = next((step for step in pending if line.startswith(step)), None)
                    if step is not None:
                        pending.remove(step)
                        cluster.kill_executor()
                assert program.wait(_TIMEOUT) == 0, _errors(lake).read_text()
            finally:
                _kill(program)
            assert cluster.executors == 2 + len(steps)
        return lake

    def _new_lake(self, name: str) -> Path:
        return shutil.copytree(self._recording, self._folder / name)

    def _kill_after(self, step: str, seconds: float, lake: Path, *target: str) -> bool:
        """Start a run, and kill it `seconds` seconds after step `step` has begun.

        Return False if the run ended before it could be killed. `target` is passed to `pipeline_program`.
        """
        program = self._start_program(lake, *target)
        try:
            assert program.stdout is not None
            if any(line.startswith(step) for line in program.stdout):
                try:
                    program.wait(seconds)
                except subprocess.TimeoutExpired:
                    return True
            assert program.wait(_TIMEOUT) == 0, _errors(lake).read_text()
            return False
        finally:
            _kill(program)

    def _run_to_the_end(self, lake: Path, target: str) -> Path:
        program = self._start_program(lake, target)
        try:
            output, _ = program.communicate(timeout=_TIMEOUT)
        finally:
            _kill(program)
        assert output.endswith("done\n"), f"exit code {program.returncode}\n{output}\n{_errors(lake).read_text()}"
        return lake

    def _start_program(self, lake: Path, *target: str) -> subprocess.Popen[str]:
        """Start `pipeline_program` in a new process group, so that the program can be killed together with its JVM."""
        # Executors must run the cluster's `python3`. Therefore, remove PYSPARK_PYTHON, which other tests may have set.
        environment = {name: value for name, value in os.environ.items() if name != "PYSPARK_PYTHON"}
        with _errors(lake).open("w") as errors:
            self._running = subprocess.Popen(
                [sys.executable, "-m", "tests.spark.pipeline_program", str(lake), str(self._records), *target],
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                start_new_session=True,
                env=environment | {"KGTUI_SPARK_JARS": str(jars.spark_folder()), "KGTUI_SPARK_MEMORY": "700m"},
            )
        # Lower the priority of the program, so that it does not slow down the tests. Do not lower it much, because
        # Spark waits at most 10 s for a Python worker to start.
        os.setpriority(os.PRIO_PROCESS, self._running.pid, os.getpriority(os.PRIO_PROCESS, 0) + 2)
        return self._running


def _errors(lake: Path) -> Path:
    return lake.with_suffix(".errors")


def _kill(program: subprocess.Popen[str]) -> None:
    """Kill all processes in the program's process group, if the group still exists."""
    with suppress(ProcessLookupError):
        os.killpg(program.pid, signal.SIGKILL)
    program.wait()
    if program.stdout is not None:
        program.stdout.close()
