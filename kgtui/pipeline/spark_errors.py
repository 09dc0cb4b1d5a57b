"""Translate Spark's errors into short messages for users, without the JVM's stack trace."""

from __future__ import annotations

import re
import sys
import tempfile
from contextlib import contextmanager
from typing import TYPE_CHECKING

from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.errors import PySparkException

from kgtui.errors import SourceError
from kgtui.pipeline.requirements import PYSPARK
from kgtui.pipeline.session import first_line
from kgtui.pipeline.sources import GROUP_PREFIX, NOT_PERMITTED, TOPIC

if TYPE_CHECKING:
    from collections.abc import Iterator

SPARK_ERRORS: tuple[type[Exception], ...] = (PySparkException, Py4JError, ConnectionError, EOFError)
"""Types of all exceptions that calls to Spark raise.

Most of these exceptions are a `PySparkException`. The other types occur if PySpark does not convert
an error of the JVM, or if the JVM has exited.
"""

_CAUSE = re.compile(r"^Caused by: (.+)$", re.MULTILINE)
_RAISED_HERE = re.compile(r"kgtui\.errors\.\w+: ([^\n]+)")
"""Finds the message of a kgtui error in the text of a Spark error.

Spark's text contains this message if a function of kgtui has raised the error in a streaming query.
"""

_CLASS = re.compile(r"^(?:[\w$]+\.)+[\w$]+: ")

_JVM_GONE = (
    "Spark's JVM has exited, because it was killed or ran out of memory. Set KGTUI_SPARK_MEMORY to a larger size, such "
    "as 4g"
)
_PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"
_NO_PERMISSION = "Spark is not permitted to write into the lake: check the permissions of the user that runs Spark"
_STORE_SILENT = (
    "the object store that contains the lake no longer responds: check that the machines of the Spark cluster can "
    "reach it, and run the pipeline again; it continues where it stopped"
)
_RECORDS_GONE = (
    f"{TOPIC} no longer contains records that the lake still needs: the topic was deleted and created again, or "
    "records were deleted from it before they were read. If the topic was created again, use another lake. Otherwise, "
    f"delete the folder _checkpoints/bronze of the lake: the next run then reads {TOPIC} from its beginning, and skips "
    "the records that the lake has"
)
_ANOTHER_RUN = "another run of the pipeline is working on this lake: wait until it has finished"
_MESSAGES = {
    "No space left on device": "no space is left on the disk of the lake, or on the disk of Spark's temporary files, "
    f"{tempfile.gettempdir()}. Free some space and run the pipeline again; it continues where it stopped",
    "java.lang.OutOfMemoryError": "Spark ran out of memory: set KGTUI_SPARK_MEMORY to a larger size, such as 4g",
    "DELTA_CONCURRENT": "another program wrote to this lake at the same time: start only one run of the pipeline",
    "CONCURRENT_STREAM_LOG_UPDATE": _ANOTHER_RUN,
    "CONCURRENT_QUERY": _ANOTHER_RUN,
    "PYTHON_VERSION_MISMATCH": "the workers of the Spark cluster run a different Python version from kgtui, which runs "
    f"{_PYTHON}. Install Python {_PYTHON} on the workers, and set PYSPARK_PYTHON to its path there",
    "No module named 'pyarrow'": "the Python of Spark's workers lacks pyarrow, which decodes some of the records: "
    "install pandas and pyarrow for it",
    'Cannot run program "python': "Spark's workers have no Python on their PATH: install Python "
    f"{_PYTHON} there, and set PYSPARK_PYTHON to its path",
    "All masters are unresponsive": "no Spark master answers at the address that --master gives, or the master does "
    f"not run Spark {PYSPARK}",
    "No FileSystem for scheme": "Spark has no connector for this kind of object store. Add the package of a connector, "
    "such as org.apache.hadoop:hadoop-azure:3.5.0, to the option spark.jars.packages in the file spark-defaults.conf. "
    "The file must be in the folder that SPARK_CONF_DIR names",
    "KAFKA_DATA_LOSS": _RECORDS_GONE,
    "some data may have been missed": _RECORDS_GONE,
    "AccessDeniedException": _NO_PERMISSION,
    "AccessControlException": _NO_PERMISSION,
    "(Permission denied)": _NO_PERMISSION,
    "Mkdirs failed to create": _NO_PERMISSION,
    "Unable to execute HTTP request": _STORE_SILENT,
    "ApiCallTimeoutException": _STORE_SILENT,
    "AbfsRestOperationException": _STORE_SILENT,
    "failed on connection exception": _STORE_SILENT,
    "InvalidClassException": f"kgtui uses Spark {PYSPARK}, but the Spark cluster runs a different version. Install "
    f"Spark {PYSPARK} on the cluster",
    "TopicAuthorizationException": NOT_PERMITTED,
    "GroupAuthorizationException": "not permitted to read with a consumer group: the user needs Read on groups whose "
    f"ids begin with {GROUP_PREFIX}",
    "SaslAuthenticationException": "the brokers rejected the login",
    "SslAuthenticationException": "the TLS handshake with the brokers failed: the certificate of a broker or of the "
    "client was rejected",
    "No resolvable bootstrap urls": "the machine that runs Spark cannot resolve any of the bootstrap addresses",
    "Failed to construct kafka consumer": "Spark could not create a Kafka consumer with the given client properties",
    "org.apache.kafka.common.errors.TimeoutException": f"the brokers did not respond in time when Spark read {TOPIC}",
}
"""Text that occurs in a Spark error → message for the user.

If several of the texts occur in an error, the message of the first of them in this dict is used.
"""


@contextmanager
def translated_spark_errors() -> Iterator[None]:
    """Convert Spark errors that are raised inside the `with` block to a `SourceError`.

    A Spark error is an exception of one of the types in `SPARK_ERRORS`.
    """
    try:
        yield
    except SPARK_ERRORS as error:
        raise to_source_error(error) from error


def to_source_error(error: Exception) -> SourceError:
    """Convert a Spark error to a `SourceError` with a message for the user.

    Args:
        error: exception of one of the types in `SPARK_ERRORS`.
    """
    if not isinstance(error, PySparkException | Py4JJavaError):
        return SourceError(_JVM_GONE)
    try:
        text = str(error)
    except SPARK_ERRORS:  # `str` reads the text from the JVM, and fails if the JVM has exited.
        return SourceError(_JVM_GONE)
    if raised := _RAISED_HERE.search(text):
        return SourceError(raised[1].strip())
    return SourceError(known_message(text) or f"Spark failed: {_root_cause(error, text)}")


def known_message(text: str) -> str | None:
    """Return a message for the user that explains the text of a Spark error; None if unknown."""
    return next((message for mark, message in _MESSAGES.items() if mark in text), None)


def _root_cause(error: Exception, text: str) -> str:
    """Return the line of a Spark error text that describes the cause, without the exception class.

    This is the text after the last `Caused by:` or, if there is none, the first line that describes
    the error.
    """
    causes = _CAUSE.findall(text)
    if causes:
        return _CLASS.sub("", causes[-1]).strip() or str(causes[-1])
    # The first line of a `Py4JJavaError` only names the Py4J call. The second line has the error.
    if isinstance(error, Py4JJavaError):
        rest = text.partition("\n")[2].removeprefix(": ")
        return _CLASS.sub("", rest.partition("\n")[0]) or first_line(error)
    return first_line(error)
