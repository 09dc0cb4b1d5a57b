"""What an error of Spark's means to who runs the pipeline: one sentence, without the stack of the JVM."""

from __future__ import annotations

import re
import tempfile
from contextlib import contextmanager
from typing import TYPE_CHECKING

from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.errors import PySparkException

from kgtui.errors import SourceError
from kgtui.pipeline.session import first_line
from kgtui.pipeline.sources.kafka import explained

if TYPE_CHECKING:
    from collections.abc import Iterator

SPARK_ERRORS: tuple[type[Exception], ...] = (PySparkException, Py4JError, ConnectionError, EOFError)
"""What Spark's calls raise: of the JVM's errors only some become PySpark's own."""

_CAUSE = re.compile(r"^Caused by: (.+)$", re.MULTILINE)
_CLASS = re.compile(r"^(?:[\w$]+\.)+[\w$]+: ")

_DEAD = "Spark's JVM has ended: it was killed, or ran out of memory (KGTUI_SPARK_MEMORY gives it more)"
_MEANINGS = {
    "No space left on device": "the disk is full on which the lake lies, or that of Spark's temporary files, "
    f"{tempfile.gettempdir()}; the next run goes on where this one stopped",
    "java.lang.OutOfMemoryError": "Spark ran out of memory: KGTUI_SPARK_MEMORY gives it more",
    "DELTA_CONCURRENT": "something else has written to this lake at the same time: one run of the pipeline at a time",
    "CONCURRENT_STREAM_LOG_UPDATE": "another run of the pipeline is at work on this lake: one at a time",
    "CONCURRENT_QUERY": "another run of the pipeline is at work on this lake: one at a time",
}


@contextmanager
def in_words() -> Iterator[None]:
    """Whatever Spark's calls raise inside becomes a `SourceError`."""
    try:
        yield
    except SPARK_ERRORS as error:
        raise failed(error) from error


def failed(error: Exception) -> SourceError:
    """An error of Spark's in words for people."""
    if not isinstance(error, PySparkException | Py4JJavaError):
        return SourceError(_DEAD)
    try:
        text = str(error)
    except SPARK_ERRORS:  # the text is asked of the JVM
        return SourceError(_DEAD)
    meaning = next((meaning for mark, meaning in _MEANINGS.items() if mark in text), None)
    return SourceError(meaning or explained(text) or f"Spark failed: {_reason(error, text)}")


def _reason(error: Exception, text: str) -> str:
    """The error that was the first, where the text tells it."""
    causes = _CAUSE.findall(text)
    if causes:
        return _CLASS.sub("", causes[-1]).strip() or str(causes[-1])
    if isinstance(error, Py4JJavaError):  # its first line says which of our calls it was
        rest = text.partition("\n")[2].removeprefix(": ")
        return _CLASS.sub("", rest.partition("\n")[0]) or first_line(error)
    return first_line(error)
