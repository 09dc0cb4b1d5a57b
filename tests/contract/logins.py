"""Log in to a broker in tests, or return why the login is refused."""

from __future__ import annotations

import traceback
from typing import TYPE_CHECKING

import pytest

from kgtui.client.client_settings import from_properties
from kgtui.client.pool import Lane, Pool, PoolOptions
from kgtui.config import read_properties
from kgtui.errors import UnreachableError
from kgtui.protocol.messages.groups import LIST_GROUPS
from tests.brokers.secure import PASSWORDS

if TYPE_CHECKING:
    from pathlib import Path

    from tests.brokers.secure import Secure


OPTIONS = PoolOptions(connect_timeout=10.0)


async def log_in(address: str, config: Path | dict[str, str]) -> list[str]:
    """Log in with `config`, list the groups of one broker, and return the group ids.

    kgtui has two connections to each broker. The groups are listed on each connection, so that kgtui logs in twice.
    """
    properties = config if isinstance(config, dict) else read_properties(config)
    async with Pool([address], from_properties(properties), options=OPTIONS) as pool:
        node = min((await pool.metadata(timeout=20)).brokers)
        await pool.call(node, LIST_GROUPS, {}, timeout=20, lane=Lane.UI)
        reply = await pool.call(node, LIST_GROUPS, {}, timeout=20)
        return sorted(row["GroupId"] for row in reply.value["Groups"])


async def refusal(address: str, config: Path | dict[str, str]) -> str:
    """Try to log in with `config`; return the error message.

    Assert that neither the message nor the traceback contains a password.
    """
    with pytest.raises(UnreachableError) as caught:
        await log_in(address, config)
    text = "".join(traceback.format_exception(caught.value))
    assert not any(password in text for password in PASSWORDS.values())
    ((_, reason),) = caught.value.attempts
    return reason


def use_kdc(secure_broker: Secure, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in secure_broker.kdc.variables.items():
        monkeypatch.setenv(name, value)
