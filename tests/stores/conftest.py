"""Fixtures of an S3 server, which all tests of this folder share."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.stores.s3 import S3Server

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.stores.s3 import Bucket

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run all tests of this folder in one xdist worker, so that they share one server."""
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.xdist_group("stores"))


@pytest.fixture(scope="session")
def s3_server() -> Iterator[S3Server]:
    with S3Server() as server:
        yield server


@pytest.fixture
def bucket(s3_server: S3Server, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bucket]:
    """Return an empty bucket. The environment names the server and contains valid credentials."""
    found = s3_server.new_bucket()
    for name, value in found.environment().items():
        monkeypatch.setenv(name, value)
    yield found
    found.switch_off()
