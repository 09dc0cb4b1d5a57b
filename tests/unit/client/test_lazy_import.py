"""Tests of `lazy_package` and `without_package`.

`lazy_package` delays the execution of a package's `__init__.py`. `without_package` makes imports of a package fail.
"""

from __future__ import annotations

import subprocess
import sys

import pytest

from kgtui.client.lazy_import import lazy_package, without_package

FIRST = """
import sys
from kgtui.client.lazy_import import lazy_package
with lazy_package("aiokafka"):
    from aiokafka.conn import create_conn
assert "aiokafka.consumer" not in sys.modules
"""


def run(code: str) -> str:
    """Start a Python process that imports aiokafka lazily and then runs `code`. Return the output of the process."""
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
def test_package_can_be_imported_normally_after_a_lazy_import(code: str) -> None:
    assert run(code) == "aiokafka.consumer.consumer\n"


def test_normal_import_after_a_lazy_import_reuses_loaded_modules() -> None:
    code = "import aiokafka\nprint(aiokafka.__version__ > '', aiokafka.conn.create_conn is create_conn)"
    assert run(code) == "True True\n"


def test_an_undefined_attribute_of_a_lazy_package_raises_attribute_error() -> None:
    code = "import aiokafka\nprint(hasattr(aiokafka, 'nonsense'), 'aiokafka.consumer' in sys.modules)"
    assert run(code) == "False True\n"


def test_lazy_import_does_not_change_an_already_loaded_package() -> None:
    import aiokafka

    before = type(aiokafka)
    with lazy_package("aiokafka"):
        assert sys.modules["aiokafka"] is aiokafka
    assert type(aiokafka) is before


def test_lazy_import_of_a_missing_package_does_nothing() -> None:
    with lazy_package("kgtui_no_such_package"):
        pass
    assert "kgtui_no_such_package" not in sys.modules


def test_without_package_makes_imports_fail_only_inside_the_with_block() -> None:
    code = """
import sys
from kgtui.client.lazy_import import without_package
with without_package("wave"):
    try:
        import wave
    except ModuleNotFoundError as error:
        print(error.name)
import wave
print(wave.open.__name__)
"""
    assert run(code) == "wave\nopen\n"


def test_without_package_does_not_block_an_already_loaded_package() -> None:
    with without_package("pytest"):
        assert sys.modules["pytest"] is pytest
    assert sys.modules["pytest"] is pytest


def test_loading_the_kafka_transport_does_not_import_gssapi() -> None:
    code = """
from kgtui.client.pool import _load_transport
_load_transport()
print([name for name in sys.modules if name.startswith("gssapi")])
"""
    assert (
        subprocess.run([sys.executable, "-c", "import sys" + code], capture_output=True, text=True, check=True).stdout
        == "[]\n"
    )
