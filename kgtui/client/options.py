"""Timeouts and limits of a pool, and the two connections ("lanes") to each broker."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Lane(Enum):
    """One of the two connections that kgtui opens to each broker.

    A broker processes the requests of one connection one after the other. Because there are two connections, a small
    request on one of them does not have to wait for a long request on the other one.
    """

    BULK = "bulk"
    """Connection for requests whose responses can be large, such as regular requests about all groups."""
    UI = "ui"
    """Connection for small requests, whose result a user might be waiting for."""


@dataclass(frozen=True, slots=True)
class PoolOptions:
    """Settings of a pool. Times are in seconds.

    Attributes:
        connect_timeout: time limit for one attempt to connect, including the TLS handshake and the login.
        second_wait: how long a request waits for a running attempt to connect if the previous attempt failed.
        backoff, backoff_max: first and longest pause between attempts to connect.
        bulk_in_flight, ui_in_flight: maximum number of concurrent requests on each of the two connections to a broker
            (`Lane.BULK` and `Lane.UI`).
        stall: how long a broker must have sent nothing, so that kgtui closes the connection when a request times out.
        head_start: how long to wait for a broker's response before the next broker is asked too.
        retry_pause, retry_pause_max: first and longest pause between attempts to look up coordinators.
        thread_bytes: size of a response, in bytes, above which the response is decoded in a thread.
        batch: maximum number of groups or topics in one request that looks up coordinators or leaders.
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
        """Return the maximum number of concurrent requests on one of the two connections (`lane`) to a broker."""
        return self.ui_in_flight if lane is Lane.UI else self.bulk_in_flight
