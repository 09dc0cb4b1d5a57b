"""Find out which step of connecting to a broker fails: name resolution, TCP, TLS, SASL or API versions."""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from kgtui.client import connect_errors
from kgtui.client.address import ip_addresses
from kgtui.client.session import log_in, negotiate
from kgtui.errors import ConnectError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable

    from kgtui.client.address import Address
    from kgtui.client.transport import Transport

T = TypeVar("T")

STEPS = ("name", "TCP", "TLS", "SASL", "API versions", "authorization")
"""The steps of connecting to a broker, in order. If TLS or SASL is not configured, its step is left out."""


class Step(NamedTuple):
    """One step of connecting to a broker.

    Attributes:
        name: one of `STEPS`.
        ok: whether the step succeeded; None if it was not tried.
        detail: the result, such as the TLS version, or why it failed and what to change.
    """

    name: str
    ok: bool | None
    detail: str


async def try_steps(transport: Transport, address: Address, *, timeout: float) -> tuple[Step, ...]:
    """Try the steps of connecting to a broker, until one of them fails. The steps after it have `ok` = None.

    The last step, "authorization", always has `ok` = None. It is never tried, because only requests about groups show
    which permissions are missing.

    Args:
        timeout: time limit for the whole call, in seconds.
    """
    settings = transport.settings
    done: list[Step] = []
    deadline = time.monotonic() + timeout
    steps = _steps(transport, address, deadline)
    try:
        async for name, detail in steps:
            done.append(Step(name, True, detail))
    except _FailedError as failed:
        done.append(Step(failed.step, False, failed.reason))
    left_out = {"TLS"} if settings.tls is None else set()
    if settings.mechanism is None:
        left_out.add("SASL")
    tried = {step.name for step in done}
    return (*done, *(Step(name, None, "") for name in STEPS if name not in tried | left_out))


class _FailedError(Exception):
    def __init__(self, step: str, reason: str) -> None:
        super().__init__(step, reason)
        self.step = step
        self.reason = reason


async def _steps(transport: Transport, address: Address, deadline: float) -> AsyncIterator[tuple[str, str]]:
    """Yield the name and the result of each step that succeeds. Raises `_FailedError` if a step fails."""
    settings = transport.settings
    hosts = await _try("name", ip_addresses(address), transport, address, deadline)
    yield "name", ", ".join(hosts)
    # Try the IP addresses of the host, one after the other, until one accepts a TCP connection. The TLS step connects
    # only to the address that has accepted.
    errors = []
    for host in hosts:
        try:
            await _try("TCP", _open(host, address.port), transport, address, deadline)
        except _FailedError as error:
            errors.append(error)
            continue
        break
    if len(errors) == len(hosts):
        raise errors[0]
    yield "TCP", f"{host}, port {address.port}"
    if settings.tls is not None:
        context = await asyncio.to_thread(settings.tls.context, address.host)
        opening = _open(host, address.port, ssl=context, server_hostname=address.host)
        yield "TLS", str(await _try("TLS", opening, transport, address, deadline))
    try:
        connection = await log_in(transport, address, timeout=_left(deadline))
    except ConnectError as error:
        raise _FailedError("API versions" if settings.mechanism is None else "SASL", str(error)) from error
    if settings.mechanism is not None:
        yield "SASL", f"logged in with {settings.mechanism}"
    try:
        await _try("API versions", negotiate(connection, settings, deadline), transport, address, deadline)
    except ConnectError as error:
        raise _FailedError("API versions", str(error)) from error
    connection.close()
    yield "API versions", "the broker reported which versions of Kafka's APIs it supports"


async def _try(step: str, work: Awaitable[T], transport: Transport, address: Address, deadline: float) -> T:
    """Wait for the result of one step until the deadline. Raises `_FailedError`, which explains why the step failed."""
    timeout = _left(deadline)
    try:
        async with asyncio.timeout(timeout):
            return await work
    except TimeoutError as error:
        raise _FailedError(step, connect_errors.explain_timeout(address, timeout)) from error
    except (OSError, EOFError) as error:
        # `ssl.SSLCertVerificationError` is both an OSError and a ValueError. Therefore, `except OSError` must come
        # before `except ValueError`.
        raise _FailedError(step, connect_errors.explain_dial_error(address, error, transport.settings)) from error
    except ValueError as error:
        raise _FailedError(step, connect_errors.explain_invalid_address(address, error)) from error


async def _open(host: str, port: int, **tls: Any) -> str:
    """Open a connection and close it. Return the TLS version of the connection; empty without TLS."""
    _, writer = await asyncio.open_connection(host, port, **tls)
    found = writer.get_extra_info("ssl_object")
    version = "" if found is None else str(found.version())
    writer.close()
    with suppress(OSError, TimeoutError):
        async with asyncio.timeout(1):
            await writer.wait_closed()
    return version


def _left(deadline: float) -> float:
    return max(deadline - time.monotonic(), 0.1)
