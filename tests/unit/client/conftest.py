"""Fixture that runs an OAuth token endpoint for tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.token_server import TokenServer, token_server

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def endpoint(monkeypatch: pytest.MonkeyPatch) -> Iterator[TokenServer]:
    """Run an OAuth token endpoint on the loopback interface. Set `no_proxy`, so that clients do not use a proxy."""
    monkeypatch.setenv("no_proxy", "*")
    with token_server() as server:
        yield server
