"""Compile the decoder in Java (`kgtui/pipeline/jvm`) into a jar, with the compiler that is part of every Spark.

Spark contains Janino, a Java compiler that needs no JDK. So the jar is made where the pipeline runs, and the package
needs no JDK when it is built or installed. The jar is kept in the folder of the downloaded jars. Its name contains a
hash of everything that it is made of.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import tempfile
import zipfile
from pathlib import Path

from kgtui.errors import SparkError
from kgtui.pipeline.requirements import PYSPARK, find_java, jar_cache, pyspark_jars

_SOURCES = Path(__file__).with_name("jvm")
_PACKAGE = "kgtui/spark"
_TABLES = f"{_PACKAGE}/tables.tsv"
_TIMEOUT = 120.0
_FAST_START = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xshare:auto")


def decoder_jar() -> Path:
    """Return the path of the jar with the decoder. If it does not exist yet, the decoder is compiled first.

    Raises:
        SparkError: the decoder cannot be compiled, or the jar cannot be written.
    """
    from kgtui.pipeline.decoder_tables import decoder_tables

    sources = sorted(_SOURCES.glob("*.java"))
    tables = decoder_tables().encode()
    digest = hashlib.sha256(PYSPARK.encode())
    for content in (tables, *(source.read_bytes() for source in sources)):
        digest.update(hashlib.sha256(content).digest())
    jar = jar_cache() / f"kgtui-decoder-{digest.hexdigest()[:16]}.jar"
    if not jar.is_file():
        try:
            _make(jar, sources, tables)
        except (OSError, subprocess.SubprocessError) as error:
            raise SparkError(f"the decoder in Java cannot be compiled: {error}") from error
    return jar


def _make(jar: Path, sources: list[Path], tables: bytes) -> None:
    """Compile `sources`, and write the classes and the tables into `jar`."""
    jar.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=jar.parent, prefix=".kgtui-decoder-") as folder:
        classes, draft = Path(folder, "classes"), Path(folder, jar.name)
        classes.mkdir()
        _compile(sources, classes)
        with zipfile.ZipFile(draft, "w", zipfile.ZIP_DEFLATED) as zipped:
            zipped.writestr("META-INF/MANIFEST.MF", "Manifest-Version: 1.0\n\n")
            zipped.writestr(_TABLES, tables)
            for file in sorted(classes.rglob("*.class")):
                zipped.write(file, file.relative_to(classes))
        # Another process may have written the same jar by now. It has the same content, so it may be replaced.
        draft.replace(jar)


def _compile(sources: list[Path], into: Path) -> None:
    """Compile Java sources with Janino. Raises `SparkError` if Janino is missing or reports an error."""
    jars = _spark_jars()
    compiler = [str(jar) for name in ("janino", "commons-compiler") for jar in jars.glob(f"{name}-[0-9]*.jar")]
    command = [find_java() or "java", *_FAST_START, "-cp", os.pathsep.join(compiler)]
    command += ["org.codehaus.commons.compiler.samples.CompilerDemo", "-d", str(into)]
    command += ["-classpath", os.pathsep.join(map(str, sorted(jars.glob("*.jar")))), *map(str, sources)]
    result = subprocess.run(command, capture_output=True, text=True, timeout=_TIMEOUT, check=False)  # noqa: S603
    compiled = {file.stem for file in into.rglob("*.class")}
    if result.returncode or not compiled.issuperset(source.stem for source in sources):
        output = (result.stderr or result.stdout).strip().splitlines() or ["the compiler printed nothing"]
        raise SparkError(f"the decoder in Java cannot be compiled: {output[0]}")


def _spark_jars() -> Path:
    """Return the folder with the jars of the Spark that PySpark starts."""
    home = os.environ.get("SPARK_HOME")
    if home:
        return Path(home, "jars")
    jars = pyspark_jars()
    if jars is None:
        raise SparkError("the decoder in Java cannot be compiled: PySpark is not installed")
    return jars
