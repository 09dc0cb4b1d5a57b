"""From the seeds to the cluster: all are asked at once, the first good answer counts."""

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
    """Where one broker listens, as it advertises itself. `rack` is None if it has none."""

    node: int
    host: str
    port: int
    rack: str | None


@dataclass(frozen=True, slots=True)
class ClusterView:
    """A cluster as one of its brokers described it.

    Attributes:
        cluster_id, controller: None where the broker did not say.
        brokers: by node id.
        features: finalized features by name, None where brokers do not tell (before 2.7).
    """

    cluster_id: str | None
    controller: int | None
    brokers: Mapping[int, BrokerAddress]
    features: Mapping[str, int] | None


class Entry(NamedTuple):
    """The way in that was found."""

    seed: Address
    session: Session
    view: ClusterView


Attempts = dict[str, str]
"""What was tried: address → how far it came, or why it failed."""

PENDING = "no answer yet"

NEVER_CREATES = 4
"""The first version of Metadata that can be told not to create the topics it names."""


def brokers_only(version: int) -> Mapping[str, Any]:
    """Fields of a Metadata request without any topic."""
    return {"Topics": [], "AllowAutoTopicCreation": False} if version >= NEVER_CREATES else {"Topics": []}


def read_view(answer: Mapping[str, Any], features: Mapping[str, int] | None) -> ClusterView:
    """Read a decoded Metadata response."""
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


async def bootstrap(transport: Transport, seeds: Sequence[Address], *, timeout: float, log: Attempts) -> Entry:
    """Ask every seed at once who the brokers are; `timeout` is for one seed to be connected, and to answer.

    Raises UnreachableError, which carries what was tried and why it failed.
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
    """Say that no broker could be reached, and why each try failed."""
    reasons = "; ".join(dict.fromkeys(reason for _, reason in attempts))
    return UnreachableError(f"no broker could be reached: {reasons}", tuple(attempts))


async def _ask(transport: Transport, seed: Address, timeout: float, log: Attempts) -> Entry:
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


async def _enter(session: Session, seed: Address, timeout: float) -> Entry:
    try:
        async with asyncio.timeout(timeout):
            return Entry(seed, session, await _view(session, seed))
    except (TimeoutError, DisconnectedError, DecodeError) as error:
        why = str(error) or f"{seed} did not say within {timeout:g} s who the brokers are"
        raise ConnectError(why, address=str(seed)) from error


async def _view(session: Session, seed: Address) -> ClusterView:
    version = session.negotiated.pick(METADATA)
    if version is None:
        raise ConnectError(
            f"{seed} speaks Kafka, but is not a broker (a controller?): use the port of a broker", address=str(seed)
        )
    body = METADATA.request.encode(version, brokers_only(version))
    data = await session.connection.send(METADATA, version, body)
    view = read_view(METADATA.response.decode(version, data), session.negotiated.features)
    if not view.brokers:
        raise ConnectError(f"{seed} knows of no broker yet: the cluster is starting", address=str(seed))
    return view
