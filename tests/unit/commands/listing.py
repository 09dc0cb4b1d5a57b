"""Helpers for tests of `kgtui ls`: a fake cluster, and functions that return the printed group ids and the calls.

The calls are the requests that the command made to the fake cluster.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.scripted import ScriptedAdmin, member

if TYPE_CHECKING:
    from tests.unit.commands.runs import Completed


def listed_cluster() -> ScriptedAdmin:
    """Return a fake cluster with a consumer group, a classic group, a share group, and a Kafka Connect group."""
    admin = ScriptedAdmin()
    admin.add("pay", "consumer", members=(member("a", client_id="c-1"), member("b")), lag=1500)
    admin.add("idle", "classic", "", "Empty", 2, lag=5)
    admin.add("queue", "share", state="Stable", coordinator=3, lag=7)
    admin.add("connect", "classic", "connect", members=(member("w"),))
    return admin


def groups(ran: Completed) -> list[str]:
    return [line.split()[0] for line in ran.out.splitlines()[1:]]


def calls(admin: ScriptedAdmin) -> dict[str, tuple[str, ...]]:
    return dict(admin.calls)
