"""Connect to brokers, and negotiate API versions and features."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import kgtui
from kgtui.client import connect_errors
from kgtui.errors import ConnectError, DecodeError, DisconnectedError
from kgtui.model.error_numbers import UNSUPPORTED_VERSION
from kgtui.protocol.messages.cluster import API_VERSIONS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kgtui.client.address import Address
    from kgtui.client.client_settings import ClientSettings
    from kgtui.client.transport import Connection, Transport
    from kgtui.protocol.api import Api


@dataclass(frozen=True, slots=True)
class Negotiated:
    """The API versions and features in a broker's response to ApiVersions.

    Attributes:
        ranges: API key → lowest and highest version that the broker supports.
        features: name of a finalized feature (KIP-584) → level; None if not reported, for example before Kafka 2.7.
        epoch: increasing version number of the set of finalized features; -1 if not reported.
    """

    ranges: Mapping[int, tuple[int, int]]
    features: Mapping[str, int] | None = None
    epoch: int = -1

    def pick(self, api: Api) -> int | None:
        """Return the highest version of `api` that both kgtui and the broker support; None if there is none."""
        low, high = self.ranges.get(api.key, (0, -1))
        version = min(api.high, high)
        return version if version >= max(api.low, low) else None


def read_api_versions(answer: Mapping[str, Any]) -> Negotiated:
    """Convert a decoded ApiVersions response into `Negotiated`. The caller must check the error code."""
    epoch = int(answer["FinalizedFeaturesEpoch"])
    features = None
    if epoch >= 0:
        features = {row["Name"]: int(row["MaxVersionLevel"]) for row in answer["FinalizedFeatures"]}
    ranges = {row["ApiKey"]: (row["MinVersion"], row["MaxVersion"]) for row in answer["ApiKeys"]}
    return Negotiated(ranges=ranges, features=features, epoch=epoch)


@dataclass(frozen=True, slots=True, eq=False)
class Session:
    """A connection to a broker, and the API versions that were negotiated on it."""

    connection: Connection
    negotiated: Negotiated


async def open_session(transport: Transport, address: Address, *, timeout: float) -> Session:
    """Connect, log in, and negotiate API versions and features (KIP-35, KIP-511, KIP-584).

    If it is unclear why connecting or the login failed, kgtui connects again to find out what kind of server listens at
    the address. The call can then take a few seconds longer than `timeout`.

    Raises:
        ConnectError: connecting, the login or the negotiation failed.
    """
    deadline = time.monotonic() + timeout
    connection = await log_in(transport, address, timeout=timeout)
    try:
        return await negotiate(connection, transport.settings, deadline)
    except TimeoutError as error:
        raise ConnectError(connect_errors.explain_timeout(address, timeout), address=str(address)) from error


async def log_in(transport: Transport, address: Address, *, timeout: float) -> Connection:
    """Connect and log in. Raises ConnectError, which explains the failure and what to do."""
    try:
        return await transport.dial(address, timeout=timeout)
    except ConnectError as error:
        raise await connect_errors.explain_with_probe(error, address, transport.settings) from error


async def negotiate(connection: Connection, settings: ClientSettings, deadline: float) -> Session:
    """Negotiate API versions and features on an open connection. If this fails, close the connection.

    Args:
        deadline: time on the clock `time.monotonic` at which the negotiation must be finished.

    Raises:
        ConnectError: the negotiation failed.
        TimeoutError: the server did not respond before the deadline.
    """
    try:
        async with asyncio.timeout(max(0.0, deadline - time.monotonic())):
            return Session(connection, await _negotiate(connection))
    except (DisconnectedError, DecodeError) as error:
        connection.close()
        raise _reason(error, connection.address, settings) from error
    except BaseException:
        connection.close()
        raise


async def _negotiate(connection: Connection) -> Negotiated:
    """Send ApiVersions in kgtui's newest version. If the broker does not support this version, try older versions."""
    request = {"ClientSoftwareName": "kgtui", "ClientSoftwareVersion": kgtui.__version__}
    version = API_VERSIONS.high
    while True:
        body = API_VERSIONS.request.encode(version, request)
        data = await connection.send(API_VERSIONS, version, body)
        code = int.from_bytes(data[:2], "big", signed=True)
        if code != UNSUPPORTED_VERSION:
            break
        # The broker does not support this version of ApiVersions. Its response has the format of version 0, and
        # usually lists the supported versions of each API. If ApiVersions itself is not in this list, try version 0.
        offered = read_api_versions(API_VERSIONS.response.decode(0, data)).pick(API_VERSIONS) or 0
        if version == 0:
            raise ConnectError(f"{connection.address} supports no version of ApiVersions that kgtui supports")
        version = min(offered, version - 1)
    if code != 0:
        raise ConnectError(
            f"{connection.address} refused ApiVersions with error {code}", address=str(connection.address)
        )
    return read_api_versions(API_VERSIONS.response.decode(version, data))


def _reason(error: Exception, address: Address, settings: ClientSettings) -> ConnectError:
    match error:
        case DecodeError():
            message = f"{address} responds, but not with a valid Kafka response: {error}"
        case DisconnectedError() if settings.mechanism is None and not isinstance(
            error.__cause__, connect_errors.ResponseTooLargeError
        ):
            message = connect_errors.explain_login_required(address, settings)
        case _:
            message = str(error)
    return ConnectError(message, address=str(address))
