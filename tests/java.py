"""Start Java programs quickly: compile each program once, and share Kafka's loaded classes between JVMs.

The JVMs share classes through an archive file (class data sharing, CDS).

Compiled programs and archives are in the folder for Kafka's jars (`tests.jars.cache`)::

    programs/Launch-1f0c….jar    a compiled program
    kafka-4.3.1-90ab….jsa        a class archive: the loaded classes of a broker, which a JVM maps into its memory
"""

from __future__ import annotations

import hashlib
import subprocess
import tempfile
import zipfile
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from tests import jars

if TYPE_CHECKING:
    from collections.abc import Sequence

FAST_START = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xshare:auto")
"""JVM options with which a program starts faster, but runs more slowly later."""

_WRITE_ARCHIVE = "-XX:ArchiveClassesAtExit="


def command(classpath: str, source: Path, options: Sequence[str] = ()) -> list[str]:
    """Return the command that runs a Java program, without the program's arguments.

    Args:
        classpath: the jars that the program uses.
        source: file with one public class.
        options: options of the JVM, in addition to `FAST_START`.
    """
    if any(option.startswith(_WRITE_ARCHIVE) for option in options):
        # This JVM writes the class archive, which all programs share, so the archive must not depend on the jar of this
        # program. Run the program's source file instead of the jar. Java compiles the source file in memory.
        return ["java", *FAST_START, *options, "-cp", classpath, str(source)]
    start = ["java", *FAST_START, *_use_archive(classpath), *options]
    return [*start, "-cp", f"{classpath}:{compiled(classpath, source)}", source.stem]


def compiled(classpath: str, source: Path) -> Path:
    """Return the path of a jar with the compiled program. Compile the program if the jar does not exist."""
    key = hashlib.sha256(f"{classpath}\n{source.read_text(encoding='utf-8')}".encode()).hexdigest()[:16]
    target = jars.cache() / "programs" / f"{source.stem}-{key}.jar"
    if target.is_file():
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent) as folder:
        # With --release, the program also runs on Java 17, the oldest version that the tests support.
        options = ["--release", "17", "-proc:none", "-nowarn", "-cp", classpath, "-d", folder]
        done = subprocess.run(["javac", *options, str(source)], capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"{source} cannot be compiled:\n{done.stderr}")
        partial = Path(folder) / target.name
        with zipfile.ZipFile(partial, "w") as jar:
            for path in Path(folder).rglob("*.class"):
                jar.write(path, path.relative_to(folder))
        partial.rename(target)  # The jar is renamed at the end, so that other processes never see an incomplete jar.
    return target


def archive(version: str) -> Path:
    """Return the path of the class archive of Kafka `version`. This function does not create the archive.

    A class archive contains the loaded classes of a broker, so that later JVMs start faster. The path depends on the
    JVM and the jars, because a JVM cannot use the archive of another JVM or of other jars.
    """
    found = sorted(jars.folder(version).glob("*.jar"))
    state = [_jvm(), *(f"{jar} {jar.stat().st_size} {jar.stat().st_mtime_ns}" for jar in found)]
    key = hashlib.sha256("\n".join(state).encode()).hexdigest()[:16]
    return jars.cache() / f"kafka-{version}-{key}.jsa"


def write_archive(version: str) -> None:
    """Write the class archive of Kafka `version` if it does not exist. Delete older archives of this version.

    The archive contains the loaded classes of a broker, so that later JVMs start faster. The JVM of a broker writes the
    archive when the JVM exits, so this function starts and stops a broker.
    """
    target = archive(version)
    if target.is_file():
        return
    # This import is not at the top of the file, because `tests.brokers.cluster` imports Kafka client libraries. Other
    # functions of this file work without these libraries.
    from tests.brokers.cluster import Cluster

    with tempfile.TemporaryDirectory(dir=target.parent, prefix=f".{target.name}.") as folder:
        partial = Path(folder) / target.name
        cluster = Cluster(version, Path(folder) / "broker", jvm=[f"{_WRITE_ARCHIVE}{partial}"])
        cluster.start()
        try:
            cluster.create_topic("topic")
            cluster.produce("topic", 1)
            cluster.commit("group", {("topic", 0): 1})
            cluster.nodes[0].end(timeout=300)
        finally:
            cluster.stop()
        for older in target.parent.glob(f"kafka-{version}-*.jsa"):
            older.unlink(missing_ok=True)
        partial.rename(target)


def _use_archive(classpath: str) -> list[str]:
    """Return the JVM options that use the class archive for a class path; an empty list if there is no archive."""
    version = Path(classpath).parent.name.removeprefix("kafka-")
    if version not in jars.BROKER_VERSIONS or classpath != jars.classpath(version) or not archive(version).is_file():
        return []
    # Turn off warnings about class archives, because a JVM prints them on standard output, which tests parse.
    return [f"-XX:SharedArchiveFile={archive(version)}", "-Xlog:disable"]


@cache
def _jvm() -> str:
    """Return the name and the version of the installed JVM."""
    return subprocess.run(["java", "-version"], capture_output=True, text=True, check=True).stderr
