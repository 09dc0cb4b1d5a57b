"""Fixtures with an S3 server. All tests of this folder use the same server."""

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
    """Run all tests of this folder in one xdist worker, because they use the same server."""
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.xdist_group("stores"))


@pytest.fixture(scope="session")
def s3_server() -> Iterator[S3Server]:
    with S3Server() as server:
        yield server


@pytest.fixture
def bucket(s3_server: S3Server, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bucket]:
    """Return an empty bucket. Set the environment variables with the S3 server's address and valid credentials."""
    found = s3_server.new_bucket()
    for name, value in found.environment().items():
        monkeypatch.setenv(name, value)
    yield found
    found.switch_off()
