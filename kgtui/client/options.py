"""Timeouts and limits of a pool, and the two connections ("lanes") to each broker."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Lane(Enum):
    """One of the two connections to a broker.

    There are two, because a broker processes the requests of one connection one after the other: kgtui can read the
    groups that the user has selected on the UI lane while the broker processes a long request on the bulk lane.
    """

    BULK = "bulk"
    """Lane for requests with potentially large responses, such as polls of all groups."""
    UI = "ui"
    """Lane for small requests, whose result a user might be waiting for."""


@dataclass(frozen=True, slots=True)
class PoolOptions:
    """Settings of a pool. Times are in seconds.

    Attributes:
        connect_timeout: time limit for one attempt to connect, which includes the TCP connection, the TLS handshake,
            the login and the negotiation of API versions.
        second_wait: after a failed attempt to connect, a call waits at most this long for the next attempt, and then
            fails. The attempt itself continues in the background.
        backoff, backoff_max: first and longest pause between attempts to connect. The pause doubles after each failure.
        bulk_in_flight, ui_in_flight: maximum number of concurrent requests on a connection of the lane BULK or UI.
        stall: if a request exceeds its time limit, and no response to any request has arrived on its connection for
            this long, the connection is replaced.
        head_start: time to wait for the response of one broker before the next broker gets the same request.
        retry_pause, retry_pause_max: first and longest pause between lookups of a coordinator that is not available.
        thread_bytes: responses with more bytes than this are decoded in a thread.
        batch: maximum number of groups or topics in one lookup.
    """

    connect_timeout: float = 5.0
    second_wait: float = 1.0
    backoff: float = 0.1
    backoff_max: float = 5.0
    bulk_in_flight: int = 2
    ui_in_flight: int = 4
    stall: float = 1.0
    head_start: float = 0.25
    retry_pause: float = 0.1
    retry_pause_max: float = 1.0
    thread_bytes: int = 256 * 1024
    batch: int = 500

    def in_flight(self, lane: Lane) -> int:
        """Return the maximum number of concurrent requests on a connection of this lane."""
        return self.ui_in_flight if lane is Lane.UI else self.bulk_in_flight
