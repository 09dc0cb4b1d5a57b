"""Build the `spark-submit` command that runs the pipeline on YARN or Kubernetes.

The Spark driver also runs there, and not on this machine (`--deploy-mode=cluster`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import kgtui
from kgtui.errors import UsageError
from kgtui.pipeline.jvm_decoder import decoder_jar
from kgtui.pipeline.requirements import JARS, MAVEN_CENTRAL, find_jars
from kgtui.pipeline.session import local_options

if TYPE_CHECKING:
    from collections.abc import Sequence

PROGRAM_IN_IMAGE = "local:///opt/kgtui.py"
"""URI of kgtui's main program in the container image that the README describes."""

_OF_THIS_MACHINE = ("spark.driver.", "spark.ui.", "spark.local.", "spark.python.")
_MEMORY = re.compile(r"[1-9][0-9]*[kmgt]b?", re.IGNORECASE)
"""Matches a memory size in Spark's notation: a number with a unit, such as `4g` or `900m`."""

_PYTHON_IN_ARCHIVE = "./environment/bin/python"


@dataclass(frozen=True, slots=True)
class Submission:
    """The program that `spark-submit` runs on a cluster, with its files and resources.

    Attributes:
        master: `yarn`, or `k8s://https://HOST:PORT`.
        program: arguments of kgtui, such as `("pipeline", "run", "--lake=s3a://bucket/lake")`.
        files: local files that are copied to the driver (only on YARN).
        archive: packed Python environment with kgtui (only on YARN).
        image: container image with Spark, Python and kgtui (only on Kubernetes).
        memory: memory of the driver, and of each executor, such as `4g`.
    """

    master: str
    program: tuple[str, ...]
    files: tuple[str, ...] = ()
    archive: str = "kgtui.tar.gz"
    image: str = ""
    executors: int = 2
    memory: str = "4g"


def spark_submit_command(submission: Submission) -> list[str]:
    """Return the `spark-submit` command as a list of arguments.

    Raises:
        UsageError: the master is neither YARN nor Kubernetes, the image is missing, or the number
            of executors or the memory size is not valid.
        SparkError: a jar for YARN cannot be downloaded or compiled.
    """
    master = submission.master
    if submission.executors < 1:
        raise UsageError(f"--executors takes a number above 0, not {submission.executors}")
    if not _MEMORY.fullmatch(submission.memory):
        raise UsageError(f"--memory takes a size such as 4g or 900m, not {submission.memory!r}")
    if master == "yarn":
        jars: Sequence[object] = (*find_jars(), decoder_jar())
        where = [f"--archives={submission.archive}#environment"]
        where += [f"--files={','.join(submission.files)}"] if submission.files else []
        extra = {"spark.pyspark.python": _PYTHON_IN_ARCHIVE}
        program = str(Path(kgtui.__file__).with_name("__main__.py"))
    elif master.startswith("k8s://"):
        if not submission.image:
            raise UsageError("--image is missing: name a container image with Spark, Python and kgtui[spark]")
        # On Kubernetes, Spark downloads the jars from Maven Central.
        jars, where = [f"{MAVEN_CENTRAL}/{jar.path}" for jar in JARS], []
        extra = {"spark.kubernetes.container.image": submission.image}
        program = PROGRAM_IN_IMAGE
    else:
        raise UsageError(
            f"--master takes yarn or k8s://https://HOST:PORT, not {master}; for spark://, use kgtui pipeline run "
            "--master"
        )
    # Pass `local_options`, except options that are useful only for a Spark on this machine. The
    # options of `session_options` need not be passed, because kgtui sets them when it runs on the
    # cluster.
    options = {name: value for name, value in local_options().items() if not name.startswith(_OF_THIS_MACHINE)}
    return [
        "spark-submit",
        f"--master={master}",
        "--deploy-mode=cluster",
        "--name=kgtui",
        f"--driver-memory={submission.memory}",
        f"--executor-memory={submission.memory}",
        f"--conf=spark.executor.instances={submission.executors}",
        f"--jars={','.join(map(str, jars))}",
        *where,
        *(f"--conf={name}={value}" for name, value in sorted((options | extra).items())),
        program,
        *submission.program,
    ]
