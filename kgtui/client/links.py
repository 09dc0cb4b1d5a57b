"""All links to one cluster, by broker and lane."""

from __future__ import annotations

import asyncio
import random
from typing import TYPE_CHECKING

from kgtui.client.address import Address
from kgtui.client.link import Link
from kgtui.client.options import Lane

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from kgtui.client.bootstrap import BrokerAddress, Entry
    from kgtui.client.options import PoolOptions
    from kgtui.client.transport import Transport


class Links:
    """Links are made when first asked for, and closed when their broker is gone or has moved."""

    def __init__(self, options: PoolOptions) -> None:
        self._options = options
        self._links: dict[tuple[int, Lane], Link] = {}
        self._retired: list[Link] = []

    def get(self, node: int, lane: Lane) -> Link | None:
        """Return the link, if there is one."""
        return self._links.get((node, lane))

    def at(self, broker: BrokerAddress, lane: Lane, transport: Transport) -> Link:
        """Return the link to this broker; makes one if there is none."""
        link = self._links.get((broker.node, lane))
        if link is None:
            address = Address(broker.host, broker.port)
            link = self._links[broker.node, lane] = Link(broker.node, address, lane, transport, self._options)
        return link

    def adopt(self, entry: Entry, transport: Transport) -> None:
        """Keep the connection to a seed as the bulk lane of the broker that advertises that address; else close it."""
        for broker in entry.view.brokers.values():
            if Address(broker.host, broker.port) == entry.seed:
                self.at(broker, Lane.BULK, transport).adopt(entry.session)
                return
        entry.session.connection.close()

    def keep_only(self, brokers: Mapping[int, BrokerAddress]) -> None:
        """Close the links to brokers that are gone or have moved."""
        for key, link in list(self._links.items()):
            broker = brokers.get(key[0])
            if broker is None or link.address != Address(broker.host, broker.port):
                link.shut()
                self._retired.append(self._links.pop(key))

    def live_lane(self, node: int) -> Lane:
        """The lane for a small question: the interactive one if it is open."""
        link = self.get(node, Lane.UI)
        return Lane.UI if link is not None and link.live else Lane.BULK

    def ranked(self, nodes: Iterable[int]) -> list[int]:
        """Open connections first, the least busy before others; those that failed lately last; else by chance."""
        shuffled = list(nodes)
        random.shuffle(shuffled)
        return sorted(shuffled, key=self._rank)

    def features(self, otherwise: Mapping[str, int] | None) -> Mapping[str, int] | None:
        """The newest finalized features that any open connection was told of."""
        told = [link.negotiated for link in self._links.values() if link.negotiated is not None]
        return max(told, key=lambda negotiated: negotiated.epoch).features if told else otherwise

    async def close(self) -> None:
        """Close every connection, and end every attempt to make one."""
        await asyncio.gather(*(link.close() for link in [*self._links.values(), *self._retired]))
        self._links.clear()
        self._retired.clear()

    def _rank(self, node: int) -> tuple[int, int]:
        links = [link for lane in Lane if (link := self.get(node, lane)) is not None]
        if any(link.live for link in links):
            return 0, min(link.in_flight for link in links)
        return (2 if any(link.left_alone for link in links) else 1), 0
