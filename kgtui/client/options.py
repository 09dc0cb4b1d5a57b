"""Timeouts and limits of a pool, and the lanes of its connections."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Lane(Enum):
    """One of the two connections to a broker.

    A broker processes the requests of a connection one after the other. With a second connection, a long list does not
    delay the groups that the user has selected.
    """

    BULK = "bulk"
    UI = "ui"


@dataclass(frozen=True, slots=True)
class PoolOptions:
    """Settings of a pool. Times are in seconds.

    Attributes:
        connect_timeout: limit for connecting, the TLS handshake, the login and the negotiation together.
        second_wait: time that a call waits for a connection to a broker that has just failed. The attempt continues.
        backoff, backoff_max: first and longest pause between attempts to connect; see `Backoff`.
        bulk_in_flight, ui_in_flight: most requests at the same time on one connection of that lane.
        stall: time without any answer after which a connection is replaced, once a request misses its deadline.
        head_start: time that one broker has to answer before another is asked, where any broker will do.
        retry_pause, retry_pause_max: first and longest pause between lookups of a coordinator that moves or loads.
        thread_bytes: size in bytes above which an answer is decoded in a thread.
        batch: most groups or topics in one lookup.
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
        """Return how many requests may be in flight on a connection of this lane."""
        return self.ui_in_flight if lane is Lane.UI else self.bulk_in_flight
