"""The SQL function `kgtui.decode(key, value)`, which decodes a record of `__consumer_offsets`.

The function runs inside the JVM, and needs only about half the CPU time of Spark expressions and
Python. Its Java source is in the folder `jvm`. The compiler Janino, which is part of Spark,
compiles this source, so that no JDK is needed.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import tempfile
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import functions as F
from pyspark.sql.classic.dataframe import DataFrame as ClassicDataFrame

from kgtui.errors import SparkError
from kgtui.lake.schemas import COMMITS
from kgtui.pipeline.requirements import PYSPARK, find_java, jar_cache, pyspark_jars
from kgtui.pipeline.transforms.group_events import type_and_about
from kgtui.pipeline.transforms.record_decoding import DECODED, POSITION, rows_for, with_positions
from kgtui.protocol.decoder_codegen import least_element_size
from kgtui.protocol.member_data.consumer import ASSIGNMENT
from kgtui.protocol.records import RECORD_SCHEMAS, value_message
from kgtui.protocol.records.schemas import KEY_VERSION
from kgtui.protocol.schema import SIZES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import DataFrame, SparkSession

    from kgtui.protocol.api import Message
    from kgtui.protocol.records import RecordSchema
    from kgtui.protocol.schema import Field, Struct


def decoder_tables() -> str:
    """Return the text of a file that tells the Java decoder the formats of all record types.

    These are the record types of `__consumer_offsets`. Each line of the file has cells that are
    separated by tabs. Booleans are 0 or 1. The first cell says what the line describes:

    - `result`: schema of the result of the SQL function, as JSON
    - `type`: a record type
    - `message`: one version of a key, of a value, or of the assignment of a member
    - `field`: a field of the `message` before it
    """
    rows: list[tuple[object, ...]] = [("result", DECODED.json())]
    for schema in RECORD_SCHEMAS.values():
        rows += _record_type(schema)
    rows += _message("assignment", ASSIGNMENT, ASSIGNMENT.high)
    return "".join("\t".join(map(str, row)) + "\n" for row in rows)


def _record_type(schema: RecordSchema) -> Iterator[tuple[object, ...]]:
    newest = value_message(schema.type, -1)
    group_type, about = type_and_about(schema.type)
    record = schema.type.name.title().replace("_", "")
    # For a record of this type, the Java decoder writes the last three cells of the line into the
    # columns `type`, `record` and `about` of the silver table `group_events`.
    yield "type", schema.type.value, newest.name, newest.high, group_type, record, about
    yield from _message("key", schema.key, KEY_VERSION)
    for version in range(newest.high + 1):
        yield from _message("value", value_message(schema.type, version), version)


def _message(part: str, message: Message, version: int) -> Iterator[tuple[object, ...]]:
    flexible = message.is_flexible(version)
    # The last cell is 1 for a strict message: invalid UTF-8, and bytes after its end, are errors.
    yield "message", part, message.label(version), version, int(flexible), int(message.strict)
    yield from _fields(message.struct, version, 0, flexible=flexible)


def _fields(struct: Struct, version: int, depth: int, *, flexible: bool) -> Iterator[tuple[object, ...]]:
    for field in struct.fields:
        yield (
            "field",
            depth,
            field.name,
            field.name[0].lower() + field.name[1:],
            field.type,
            int(field.array),
            int(field.nullable.has(version)),
            -1 if field.tag is None else field.tag,
            int(field.versions.has(version)),
            least_element_size(field, version, flexible=flexible),  # minimum size of an array element, in bytes
            int(field.null_by_default),
            SIZES.get(field.type, 0),
            int(field.struct is not None),  # the fields of a struct follow in the next lines
            _default(field),
        )
        if field.struct is not None:
            yield from _fields(field.struct, version, depth + 1, flexible=flexible)


def _default(field: Field) -> str:
    """Return the default value of a field as text; empty if it is not an integer or a string."""
    return str(field.default) if isinstance(field.default, (int, str)) else ""


_SOURCES = Path(__file__).with_name("jvm")
_PACKAGE = "kgtui/spark"
_TABLES = f"{_PACKAGE}/tables.tsv"
_TIMEOUT = 120.0
_FAST_START = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xshare:auto")


def decoder_jar() -> Path:
    """Return the path of the jar with the Java decoder.

    If the jar is missing from the jar cache, the decoder is compiled first.

    Raises:
        SparkError: the decoder cannot be compiled, or the jar cannot be written.
    """

    sources = sorted(_SOURCES.glob("*.java"))
    tables = decoder_tables().encode()
    # The name of the jar contains a hash of its sources, so that the decoder is compiled again
    # after its source has changed.
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
        # If another process has compiled the decoder in the meantime, the jar of that process is
        # replaced with a jar that contains the same classes.
        draft.replace(jar)


def _compile(sources: list[Path], into: Path) -> None:
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
    home = os.environ.get("SPARK_HOME")
    if home:
        return Path(home, "jars")
    jars = pyspark_jars()
    if jars is None:
        raise SparkError("the decoder in Java cannot be compiled: PySpark is not installed")
    return jars


_CATALOG = "spark.sql.catalog.kgtui"
"""Spark option with the Java class of the catalog `kgtui`, which contains the function `decode`."""

_CATALOG_CLASS = "kgtui.spark.DecoderCatalog"


def enable_decoder(spark: SparkSession) -> bool:
    """Make the SQL function `kgtui.decode` available in a session. Return whether this succeeded.

    The function is not available if Spark does not have the jar with the Java decoder. It is also
    not available if a Spark Connect server has the jar of another version of kgtui, in which the
    function returns different fields.
    """
    spark.conf.set(_CATALOG, _CATALOG_CLASS)
    try:
        schema = spark.sql("SELECT kgtui.decode(X'', X'') AS decoded").schema
        found = schema["decoded"].dataType.simpleString() == DECODED.simpleString()
    except (PySparkException, Py4JJavaError):
        # If the Java class is missing, PySpark does not convert the error to a `PySparkException`,
        # but raises a `Py4JJavaError`.
        found = False
    if not found:
        spark.conf.unset(_CATALOG)
    return found


def has_decoder(spark: SparkSession) -> bool:
    """Return whether the session can use the SQL function `kgtui.decode`."""
    return spark.conf.get(_CATALOG, None) is not None


class KeptRecords:
    """Decodes the valid offset commits of one batch, and keeps all other records in memory.

    The other records are damaged commits, and records that are not commits. They can then be
    decoded without reading the batch a second time. The memory is that of the Spark driver. If the
    other records are larger than 32 MB in total, none of them is kept.
    """

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        self._java: Any = spark._jvm.kgtui.spark.KeptRecords  # type: ignore[union-attr]
        self._id: int = self._java.create(spark._jsc.sc())

    @classmethod
    def of(cls, spark: SparkSession) -> KeptRecords | None:
        """Return a new `KeptRecords` for one batch.

        The result is None if the session uses Spark Connect, or does not have the Java decoder.
        """
        # A session of Spark Connect has no attribute `_jvm`.
        return cls(spark) if getattr(spark, "_jvm", None) is not None and has_decoder(spark) else None

    def decode_commits(self, records: DataFrame) -> DataFrame:
        """Decode the valid offset commits of a batch into rows of the silver table `commits`.

        While Spark computes the result, all other records are kept in memory. The caller must use
        the result only once. Otherwise, Spark computes the result again, and keeps the same records
        twice.

        Args:
            records: rows of the bronze table: undecoded records of all types.
        """
        decode = f"kgtui.decode_keeping_{self._id}(day, record_partition, record_offset, record_time, key, value)"
        decoded = with_positions(records).withColumn("commit", F.expr(decode))
        return rows_for(decoded, COMMITS)

    def take(self, expected: int) -> DataFrame | None:
        """Return the kept records as rows of the bronze table, and remove them from memory.

        Args:
            expected: number of records that should have been kept.

        Returns:
            The records; None if their number is not `expected`, for example because they were too
                large to be kept.
        """
        kept = self._java.take(self._id, self._spark._jsparkSession, expected)
        if kept is None:
            return None
        day, time = F.date_from_unix_date("day").alias("day"), F.timestamp_micros("timestamp").alias("timestamp")
        return ClassicDataFrame(kept, self._spark).select(day, "partition", "offset", time, "key", "value")

    def discard(self) -> None:
        """Remove the kept records from memory."""
        self._java.take(self._id, self._spark._jsparkSession, -1)


def decode_in_jvm(records: DataFrame) -> DataFrame:
    """Decode records of all types inside the JVM, with the SQL function `kgtui.decode`.

    The result has the schema `record_decoding.SCHEMA`.

    Args:
        records: rows of the bronze table (undecoded records of `__consumer_offsets`).
    """
    decoded = with_positions(records).withColumn("decoded", F.expr("kgtui.decode(key, value)"))
    return decoded.select(*POSITION, "decoded.*")
