"""Translate Spark's errors into one-sentence messages for users, without the JVM's stack trace."""

from __future__ import annotations

import re
import tempfile
from contextlib import contextmanager
from typing import TYPE_CHECKING

from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.errors import PySparkException

from kgtui.errors import SourceError
from kgtui.pipeline.session import first_line
from kgtui.pipeline.sources import GROUP_PREFIX, NOT_PERMITTED, TOPIC

if TYPE_CHECKING:
    from collections.abc import Iterator

SPARK_ERRORS: tuple[type[Exception], ...] = (PySparkException, Py4JError, ConnectionError, EOFError)
"""Exceptions that calls of Spark raise; PySpark converts only some of the JVM's errors into its own."""

_CAUSE = re.compile(r"^Caused by: (.+)$", re.MULTILINE)
_CLASS = re.compile(r"^(?:[\w$]+\.)+[\w$]+: ")

_JVM_GONE = "Spark's JVM has exited: it was killed, or ran out of memory (KGTUI_SPARK_MEMORY gives it more)"
_ANOTHER_RUN = "another run of the pipeline is working on this lake: wait until it has finished"
_MESSAGES = {
    "No space left on device": "no space is left on the disk of the lake, or on the disk of Spark's temporary files, "
    f"{tempfile.gettempdir()}; free some, and the next run continues where this one stopped",
    "java.lang.OutOfMemoryError": "Spark ran out of memory: KGTUI_SPARK_MEMORY gives it more",
    "DELTA_CONCURRENT": "something else wrote to this lake at the same time: start only one run of the pipeline",
    "CONCURRENT_STREAM_LOG_UPDATE": _ANOTHER_RUN,
    "CONCURRENT_QUERY": _ANOTHER_RUN,
    "TopicAuthorizationException": NOT_PERMITTED,
    "GroupAuthorizationException": "not permitted to read with a consumer group: the user needs Read on groups whose "
    f"ids begin with {GROUP_PREFIX}",
    "SaslAuthenticationException": "the brokers rejected the login",
    "SslAuthenticationException": "the TLS handshake with the brokers failed: their certificate or the client's was "
    "rejected",
    "No resolvable bootstrap urls": "the machine that runs Spark cannot resolve any of the bootstrap addresses",
    "Failed to construct kafka consumer": "Spark could not create a Kafka consumer with these client properties",
    "org.apache.kafka.common.errors.TimeoutException": f"the brokers did not answer Spark in time when it read {TOPIC}",
}
"""Message for the user by a text that occurs in an error of Spark; the first match counts."""


@contextmanager
def translated_spark_errors() -> Iterator[None]:
    """Raise a `SourceError` with a message for users in place of any of `SPARK_ERRORS`."""
    try:
        yield
    except SPARK_ERRORS as error:
        raise to_source_error(error) from error


def to_source_error(error: Exception) -> SourceError:
    """Return a `SourceError` that describes one of `SPARK_ERRORS` in a message for users."""
    if not isinstance(error, PySparkException | Py4JJavaError):
        return SourceError(_JVM_GONE)
    try:
        text = str(error)
    except SPARK_ERRORS:  # the text is fetched from the JVM
        return SourceError(_JVM_GONE)
    return SourceError(known_message(text) or f"Spark failed: {_root_cause(error, text)}")


def known_message(text: str) -> str | None:
    """Return the message for an error of Spark, Delta Lake or Kafka by its text; None for an unknown one."""
    return next((message for mark, message in _MESSAGES.items() if mark in text), None)


def _root_cause(error: Exception, text: str) -> str:
    """Return the text of the innermost cause, without its class name, or else the first line of the error."""
    causes = _CAUSE.findall(text)
    if causes:
        return _CLASS.sub("", causes[-1]).strip() or str(causes[-1])
    if isinstance(error, Py4JJavaError):  # its first line only names the Python call
        rest = text.partition("\n")[2].removeprefix(": ")
        return _CLASS.sub("", rest.partition("\n")[0]) or first_line(error)
    return first_line(error)
