"""A package whose own code waits until it is wanted."""

from __future__ import annotations

import subprocess
import sys

import pytest

from kgtui.client.lazy_import import lazy_package

FIRST = """
import sys
from kgtui.client.lazy_import import lazy_package
with lazy_package("aiokafka"):
    from aiokafka.conn import create_conn
assert "aiokafka.consumer" not in sys.modules
"""


def run(code: str) -> str:
    """The output of a program of its own."""
    return subprocess.run([sys.executable, "-c", FIRST + code], capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize(
    "code",
    [
        "from aiokafka import AIOKafkaConsumer\nprint(AIOKafkaConsumer.__module__)",
        "import aiokafka\nprint(aiokafka.AIOKafkaConsumer.__module__)",
        "import aiokafka.consumer\nprint(aiokafka.consumer.AIOKafkaConsumer.__module__)",
        "import aiokafka.consumer.fetcher\nfrom aiokafka import AIOKafkaConsumer as C\nprint(C.__module__)",
        "from aiokafka import *\nprint(AIOKafkaConsumer.__module__)",
    ],
)
def test_whoever_wants_the_package_gets_all_of_it(code: str) -> None:
    assert run(code) == "aiokafka.consumer.consumer\n"


def test_its_modules_are_loaded_once() -> None:
    code = "import aiokafka\nprint(aiokafka.__version__ > '', aiokafka.conn.create_conn is create_conn)"
    assert run(code) == "True True\n"


def test_what_it_does_not_have_is_missing_as_ever() -> None:
    code = "import aiokafka\nprint(hasattr(aiokafka, 'nonsense'), 'aiokafka.consumer' in sys.modules)"
    assert run(code) == "False True\n"


def test_a_package_that_is_loaded_stays_as_it_is() -> None:
    import aiokafka

    before = type(aiokafka)
    with lazy_package("aiokafka"):
        assert sys.modules["aiokafka"] is aiokafka
    assert type(aiokafka) is before


def test_a_package_that_is_not_there_is_left_to_the_import() -> None:
    with lazy_package("kgtui_no_such_package"):
        pass
    assert "kgtui_no_such_package" not in sys.modules
