"""Download pinned versions of Kafka's jars into the cache of the tests: `python -m tests.kafka.fetch [--full]`.

If Maven is not installed, Ivy downloads the jars. The jar of Ivy comes from PySpark's source archive. An interrupted
download leaves no incomplete folder.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from kgtui.pipeline.requirements import JARS
from kgtui.pipeline.s3 import s3_jars
from tests import jars, java

PYSPARK = "pyspark==4.2.0"
"""PySpark release. Its source archive contains the Ivy jar, which is used if Maven is not installed."""

DEPENDENCY_PLUGIN = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1"

CLIENT_ARTIFACTS = (
    "kafka-streams",
    "connect-runtime",
    "connect-json",
    "connect-file",
    "connect-transforms",
)

Coordinate = tuple[str, str, str]
"""Maven coordinates of a jar: group id, artifact id and version."""

Resolver = Callable[[Iterable[Coordinate], Path, bool], None]
"""Function that downloads jars.

The arguments are the coordinates of the jars, the folder for the jars, and whether to include their dependencies.
"""


def broker_coordinates(version: str) -> list[Coordinate]:
    """Return the coordinates of the jars for a broker of Kafka `version`.

    Jars for the command line tools are included if Maven Central has them. For a version in `jars.BROKER_VERSIONS`,
    jars for a Connect worker and a Streams program are included as well.
    """
    tools = ("kafka-tools",) if jars.tools_version(version) == version else ()
    clients = CLIENT_ARTIFACTS if version in jars.BROKER_VERSIONS else ()
    kafka = [("org.apache.kafka", artifact, version) for artifact in ("kafka_2.13", *tools, *clients)]
    return [*kafka, ("org.slf4j", "slf4j-simple", "1.7.36")]


def client_coordinates() -> list[Coordinate]:
    """Return the coordinates of the kafka-clients jars whose message schemas the tests read."""
    return [("org.apache.kafka", "kafka-clients", version) for version in jars.CLIENT_VERSIONS]


def spark_coordinates() -> list[Coordinate]:
    """Return the coordinates of the jars that Spark needs in addition to PySpark."""
    return [(jar.group, jar.artifact, jar.version) for jar in JARS]


def s3_coordinates() -> list[Coordinate]:
    """Return the coordinates of the jars with which Spark reads and writes S3."""
    return [(jar.group, jar.artifact, jar.version) for jar in s3_jars()]


def missing(target: Path, coordinates: Iterable[Coordinate]) -> list[Coordinate]:
    """Return the `coordinates` whose jars are not in the folder `target` yet."""
    return [one for one in coordinates if not (target / f"{one[1]}-{one[2]}.jar").is_file()]


def pom(coordinates: Iterable[Coordinate], transitive: bool) -> str:
    """Return a Maven `pom.xml` that depends on the jars. If `transitive` is false, it excludes their dependencies."""
    others = "<exclusion><groupId>*</groupId><artifactId>*</artifactId></exclusion>"
    exclusions = "" if transitive else f"<exclusions>{others}</exclusions>"
    dependencies = "".join(
        f"<dependency><groupId>{group}</groupId><artifactId>{artifact}</artifactId>"
        f"<version>{version}</version>{exclusions}</dependency>"
        for group, artifact, version in coordinates
    )
    return (
        '<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>'
        "<groupId>kgtui</groupId><artifactId>test-jars</artifactId><version>1</version>"
        f"<dependencies>{dependencies}</dependencies></project>"
    )


def with_maven(coordinates: Iterable[Coordinate], into: Path, transitive: bool) -> None:
    """Download jars into the folder `into` with `mvn dependency:copy-dependencies`.

    If `transitive` is true, also download the dependencies of the jars.
    """
    project = into / "pom.xml"
    # If `transitive` is false, Maven runs once per jar. A single Maven project could not depend on several versions of
    # one artifact, such as kafka-clients.
    for batch in [list(coordinates)] if transitive else [[one] for one in coordinates]:
        project.write_text(pom(batch, transitive), encoding="utf-8")
        goal = f"{DEPENDENCY_PLUGIN}:copy-dependencies"
        _run(["mvn", "-B", "-q", "-C", "-U", "-f", str(project), goal, f"-DoutputDirectory={into}"])
    project.unlink()


def ivy_resolver(ivy: Path) -> Resolver:
    """Return a function that downloads jars with the Ivy jar `ivy` and Ivy's default settings."""

    def resolve(coordinates: Iterable[Coordinate], into: Path, transitive: bool) -> None:
        module = into / "ivy.xml"
        pattern = f"{into}/[artifact]-[revision](-[classifier]).[ext]"
        for batch in [list(coordinates)] if transitive else [[one] for one in coordinates]:
            module.write_text(ivy_module(batch, transitive), encoding="utf-8")
            arguments = ["-ivy", str(module), "-retrieve", pattern, "-types", "jar", "bundle"]
            _run(["java", "-jar", str(ivy), "-warn", *arguments])
        module.unlink()

    return resolve


def ivy_module(coordinates: Iterable[Coordinate], transitive: bool) -> str:
    """Return the text of an Ivy module file (`ivy.xml`) that depends on the jars in `coordinates`.

    If `transitive` is true, Ivy also downloads the jars that these jars need at run time.
    """
    dependencies = "".join(
        f'<dependency org="{group}" name="{artifact}" rev="{version}" conf="default->default" '
        f'transitive="{str(transitive).lower()}"/>'
        for group, artifact, version in coordinates
    )
    return (
        '<ivy-module version="2.0"><info organisation="kgtui" module="test-jars"/>'
        '<configurations><conf name="default"/></configurations><publications/>'
        f"<dependencies>{dependencies}</dependencies></ivy-module>"
    )


def ivy_jar() -> Path:
    """Return the path of the Ivy jar. The first call extracts the jar from PySpark's source archive."""
    target = jars.cache() / "ivy.jar"
    if target.is_file():
        return target
    with tempfile.TemporaryDirectory(dir=jars.cache(), prefix="pyspark.") as folder:
        _run([sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", folder, PYSPARK])
        (archive,) = Path(folder).glob("pyspark-*.tar.gz")
        with tarfile.open(archive) as tar:
            member = next(m for m in tar if "/jars/ivy-" in m.name and m.name.endswith(".jar"))
            content = tar.extractfile(member)
            assert content is not None, f"{member.name} in {archive.name} is not a file"
            partial = Path(folder) / "ivy.jar"
            partial.write_bytes(content.read())
        partial.rename(target)
    return target


def fill(target: Path, coordinates: Iterable[Coordinate], resolve: Resolver, *, transitive: bool) -> None:
    """Download the jars that are missing in the folder `target`. An interrupted download does not change the folder."""
    lacking = missing(target, coordinates)
    if not lacking:
        return
    sys.stdout.write(f"fetching {target.name} …\n")
    sys.stdout.flush()
    partial = Path(tempfile.mkdtemp(dir=target.parent, prefix=f".{target.name}."))
    try:
        resolve(lacking, partial, transitive)
        if not any(partial.glob("*.jar")):
            raise SystemExit(f"Maven or Ivy found no jars for {target.name}")
        for second in partial.glob("slf4j-reload4j-*.jar"):
            # Kafka 3.9 depends on slf4j-reload4j. Delete this jar, because Kafka's tools print a warning if there is a
            # logging backend in addition to slf4j-simple.
            second.unlink()
        partial.chmod(0o755)
        try:
            partial.rename(target)
        except OSError:
            if not target.is_dir():
                raise
            # The folder `target` already exists, so `partial` cannot be renamed to `target`. Move each jar instead.
            for jar in partial.glob("*.jar"):
                jar.replace(target / jar.name)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def main() -> None:
    """Download missing jars, and write missing class archives, with which JVMs start faster (see `tests.java`).

    With `--with ivy`, Ivy is used even if Maven is installed.
    """
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0] if __doc__ else None)
    parser.add_argument("--with", dest="resolver", choices=("auto", "maven", "ivy"), default="auto")
    parser.add_argument("--full", action="store_true", help="also fetch the jars for tests/run --full")
    options = parser.parse_args()
    jars.cache().mkdir(parents=True, exist_ok=True)
    versions = (*jars.BROKER_VERSIONS, *(jars.FULL_BROKER_VERSIONS if options.full else ()))
    targets = [(jars.cache() / f"kafka-{version}", broker_coordinates(version), True) for version in versions]
    targets.append((jars.cache() / "kafka-clients", client_coordinates(), False))
    spark_jars = spark_coordinates() + (s3_coordinates() if options.full else [])
    targets.append((jars.cache() / "spark-jars", spark_jars, False))
    if any(missing(target, coordinates) for target, coordinates, _ in targets):
        download(targets, options.resolver)
    with ThreadPoolExecutor() as pool:
        list(pool.map(java.write_archive, jars.BROKER_VERSIONS))


def download(targets: Iterable[tuple[Path, list[Coordinate], bool]], chosen: str) -> None:
    """Download the missing jars of several folders.

    Args:
        targets: `(folder, jars that it must contain, whether to download the dependencies of the jars too)`.
        chosen: `maven`, `ivy`, or `auto` (Maven if it is installed, otherwise Ivy).
    """
    maven = chosen == "maven" or (chosen == "auto" and shutil.which("mvn") is not None)
    resolve = with_maven if maven else ivy_resolver(ivy_jar())
    for target, coordinates, transitive in targets:
        fill(target, coordinates, resolve, transitive=transitive)


def _run(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(failure(command, done.stdout + done.stderr))


def failure(command: list[str], output: str) -> str:
    """Return the error message for a failed command.

    The message names the jars that the repository does not have. If the repository has all jars, the message contains
    the end of the command's output.
    """
    # Maven reports only the first jar that it cannot find; Ivy reports all of them.
    absent = re.findall(r"Could not find artifact (\S+)|:: (\S+#\S+;\S+): not found", output)
    if absent:
        return f"The jar repository does not have {', '.join(sorted({maven or ivy for maven, ivy in absent}))}."
    return f"{' '.join(command[:3])} … failed:\n{output[-3000:]}"


if __name__ == "__main__":
    main()
