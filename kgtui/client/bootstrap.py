"""Find the brokers of a cluster: ask all bootstrap servers at the same time, and use the first response."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from kgtui.client.concurrency import AllFailedError, first_success
from kgtui.client.session import Session, open_session
from kgtui.errors import ConnectError, DecodeError, DisconnectedError, UnreachableError
from kgtui.protocol.messages.cluster import METADATA

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kgtui.client.address import Address
    from kgtui.client.transport import Transport


@dataclass(frozen=True, slots=True)
class BrokerAddress:
    """One broker, with the address that it advertises to clients."""

    node: int
    host: str
    port: int
    rack: str | None


@dataclass(frozen=True, slots=True)
class ClusterView:
    """The metadata of a cluster, as reported by one of its brokers.

    Attributes:
        cluster_id: id of the cluster; None if not reported.
        controller: node id of the controller; None if not reported.
        brokers: node id → advertised address.
        features: name of a finalized feature → level; None for brokers before Kafka 2.7.
    """

    cluster_id: str | None
    controller: int | None
    brokers: Mapping[int, BrokerAddress]
    features: Mapping[str, int] | None


class FirstServer(NamedTuple):
    """The bootstrap server that responded first, the open connection to it, and the cluster metadata that it sent."""

    seed: Address
    session: Session
    view: ClusterView


Attempts = dict[str, str]
"""Address of a bootstrap server → why the attempt to use it failed; `PENDING` if the attempt has not failed (yet)."""

PENDING = "no answer yet"

FIRST_VERSION_WITHOUT_TOPIC_CREATION = 4
"""First version of the Metadata request with which a client can forbid the automatic creation of missing topics."""


def brokers_only(version: int) -> Mapping[str, Any]:
    """Return the fields of a Metadata request that asks only for the brokers, not for topics."""
    return (
        {"Topics": [], "AllowAutoTopicCreation": False}
        if version >= FIRST_VERSION_WITHOUT_TOPIC_CREATION
        else {"Topics": []}
    )


def read_view(answer: Mapping[str, Any], features: Mapping[str, int] | None) -> ClusterView:
    """Convert a decoded Metadata response into a ClusterView.

    Args:
        features: finalized features from an ApiVersions response, because Metadata responses do not contain them.
    """
    brokers = {
        row["NodeId"]: BrokerAddress(row["NodeId"], row["Host"], row["Port"], row["Rack"]) for row in answer["Brokers"]
    }
    controller = answer["ControllerId"]
    return ClusterView(
        cluster_id=answer["ClusterId"],
        controller=controller if controller >= 0 else None,
        brokers=brokers,
        features=features,
    )


async def bootstrap(transport: Transport, seeds: Sequence[Address], *, timeout: float, log: Attempts) -> FirstServer:
    """Ask all bootstrap servers at the same time for the brokers of the cluster.

    Return the first response and its connection. Close the connections to the other servers.

    Args:
        timeout: time limit in seconds for each of two steps: connecting to a server, and getting its Metadata response.
        log: dict that this function fills with the state of each attempt (see `Attempts`).

    Raises:
        UnreachableError: no bootstrap server returned the brokers. The error lists each server, and why it failed.
    """
    log.clear()
    log.update(dict.fromkeys(map(str, seeds), PENDING))
    try:
        return await first_success(
            [partial(_ask, transport, seed, timeout, log) for seed in seeds],
            head_start=0,
            expected=(ConnectError,),
            discard=lambda entry: entry.session.connection.close(),
        )
    except AllFailedError:
        raise unreachable(list(log.items())) from None


def unreachable(
    attempts: Sequence[tuple[str, str]], problem: str = "no broker could be reached", advice: str | None = None
) -> UnreachableError:
    """Return an UnreachableError that says why each attempt to reach a broker failed."""
    reasons = "; ".join(dict.fromkeys(reason for _, reason in attempts))
    return UnreachableError(f"{problem}: {reasons}", tuple(attempts), advice)


async def _ask(transport: Transport, seed: Address, timeout: float, log: Attempts) -> FirstServer:
    try:
        session = await open_session(transport, seed, timeout=timeout)
        try:
            return await _enter(session, seed, timeout)
        except BaseException:
            session.connection.close()
            raise
    except ConnectError as error:
        log[str(seed)] = str(error)
        raise


async def _enter(session: Session, seed: Address, timeout: float) -> FirstServer:
    try:
        async with asyncio.timeout(timeout):
            return FirstServer(seed, session, await _view(session, seed))
    except (TimeoutError, DisconnectedError, DecodeError) as error:
        reason = str(error) or f"{seed} did not send its list of brokers within {timeout:g} s"
        raise ConnectError(reason, address=str(seed)) from error


async def _view(session: Session, seed: Address) -> ClusterView:
    version = session.negotiated.pick(METADATA)
    if version is None:
        raise ConnectError(
            f"{seed} is a Kafka node but not a broker; it may be a controller: use the port of a broker",
            address=str(seed),
        )
    body = METADATA.request.encode(version, brokers_only(version))
    data = await session.connection.send(METADATA, version, body)
    view = read_view(METADATA.response.decode(version, data), session.negotiated.features)
    if not view.brokers:
        raise ConnectError(
            f"{seed} reports no brokers; the cluster is probably still starting: try again soon", address=str(seed)
        )
    return view
