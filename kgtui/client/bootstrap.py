"""Find the brokers of a cluster: ask all seeds at the same time, and use the first good answer."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from kgtui.client.first_success import AllFailedError, first_success
from kgtui.client.session import Session, open_session
from kgtui.errors import ConnectError, DecodeError, DisconnectedError, UnreachableError
from kgtui.protocol.messages.cluster import METADATA

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kgtui.client.address import Address
    from kgtui.client.transport import Transport


@dataclass(frozen=True, slots=True)
class BrokerAddress:
    """The advertised address of one broker.

    Attributes:
        node: id of the broker.
        rack: None if the broker has no rack.
    """

    node: int
    host: str
    port: int
    rack: str | None


@dataclass(frozen=True, slots=True)
class ClusterView:
    """A cluster as one of its brokers described it.

    Attributes:
        cluster_id: None if the broker did not send it.
        controller: node id of the controller; None if the broker did not send it.
        brokers: address by node id.
        features: level by name of finalized feature; None for brokers before 2.7, which do not report features.
    """

    cluster_id: str | None
    controller: int | None
    brokers: Mapping[int, BrokerAddress]
    features: Mapping[str, int] | None


class SeedAnswer(NamedTuple):
    """The seed that answered first, with its connection and its view of the cluster."""

    seed: Address
    session: Session
    view: ClusterView


Attempts = dict[str, str]
"""Address of a seed → why it failed, or `PENDING`."""

PENDING = "no answer yet"

NEVER_CREATES = 4
"""First version of Metadata that can request topics without creating them."""


def brokers_only(version: int) -> Mapping[str, Any]:
    """Return the fields of a Metadata request for brokers only, without any topic."""
    return {"Topics": [], "AllowAutoTopicCreation": False} if version >= NEVER_CREATES else {"Topics": []}


def read_view(answer: Mapping[str, Any], features: Mapping[str, int] | None) -> ClusterView:
    """Return the view of the cluster in a decoded Metadata response."""
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


async def bootstrap(transport: Transport, seeds: Sequence[Address], *, timeout: float, log: Attempts) -> SeedAnswer:
    """Ask every seed at the same time for the brokers of the cluster.

    Args:
        timeout: seconds for the connection to one seed, and again for its answer.
        log: filled with the result of each attempt, also while this function runs.

    Raises:
        UnreachableError: no seed answered. It contains the attempts and their reasons.
    """
    log.clear()
    log.update(dict.fromkeys(map(str, seeds), PENDING))
    try:
        return await first_success(
            [partial(_ask, transport, seed, timeout, log) for seed in seeds],
            head_start=0,
            losing=(ConnectError,),
            discard=lambda entry: entry.session.connection.close(),
        )
    except AllFailedError:
        raise unreachable(list(log.items())) from None


def unreachable(attempts: Sequence[tuple[str, str]]) -> UnreachableError:
    """Return an UnreachableError that says why each attempt failed."""
    reasons = "; ".join(dict.fromkeys(reason for _, reason in attempts))
    return UnreachableError(f"no broker could be reached: {reasons}", tuple(attempts))


async def _ask(transport: Transport, seed: Address, timeout: float, log: Attempts) -> SeedAnswer:
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


async def _enter(session: Session, seed: Address, timeout: float) -> SeedAnswer:
    try:
        async with asyncio.timeout(timeout):
            return SeedAnswer(seed, session, await _view(session, seed))
    except (TimeoutError, DisconnectedError, DecodeError) as error:
        reason = str(error) or f"{seed} did not send its list of brokers within {timeout:g} s"
        raise ConnectError(reason, address=str(seed)) from error


async def _view(session: Session, seed: Address) -> ClusterView:
    version = session.negotiated.pick(METADATA)
    if version is None:
        raise ConnectError(
            f"{seed} is a Kafka node, but not a broker (a controller?): use the port of a broker", address=str(seed)
        )
    body = METADATA.request.encode(version, brokers_only(version))
    data = await session.connection.send(METADATA, version, body)
    view = read_view(METADATA.response.decode(version, data), session.negotiated.features)
    if not view.brokers:
        raise ConnectError(
            f"{seed} knows no broker yet because the cluster is starting: try again soon", address=str(seed)
        )
    return view
