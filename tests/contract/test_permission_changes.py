"""Tests that kgtui notices permissions that are granted or revoked while it runs, on a real Kafka 4.3.1 broker."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kgtui.admin.kafka import connect
from kgtui.commands.selection import select_groups
from kgtui.config import read_properties
from kgtui.model import facts
from kgtui.model.offsets import LagTotal
from kgtui.monitor import MonitorOptions, detail_tiers
from tests.brokers.kgtui_permissions import SEE_ANY_TOPIC, Permission
from tests.unit.monitor.watching import until, watching

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from kgtui.admin.kafka import KafkaGroupAdmin
    from kgtui.model.snapshot import Snapshot
    from tests.brokers.secure import Secure

GROUP, LAG = "team-a-and-b", 7
"""Id of a group that has committed offsets in two topics, and its total lag in records."""

SEE_OTHER_TOPIC = Permission("DESCRIBE", "topic", "team-b-events")
"""Permission to describe the topic `team-b-events`, one of the two topics in which `GROUP` has offsets."""

OPTIONS = MonitorOptions(interval=0.5, publish_interval=0.0, sweep_pause=0.2)


@pytest.fixture
async def changing(secure_broker: Secure) -> AsyncIterator[KafkaGroupAdmin]:
    """Yield an admin client for the user `changing`, who has DESCRIBE on all groups, but at first on no topic."""
    async with connect([secure_broker.sasl], read_properties(secure_broker.command_config("changing"))) as admin:
        yield admin


async def test_the_monitor_reports_hidden_offsets_only_while_a_permission_is_missing(
    secure_broker: Secure, changing: KafkaGroupAdmin, monkeypatch: pytest.MonkeyPatch
) -> None:

    def marked(snapshot: Snapshot) -> bool:
        return facts.hidden_offsets_fault(snapshot, GROUP) is not None and snapshot.hides_topics

    def complete(snapshot: Snapshot) -> bool:
        return facts.lag_total(snapshot, GROUP) == LagTotal(LAG, 0, 2) and not snapshot.hides_topics

    monkeypatch.setattr(detail_tiers, "ACCESS_MAX_AGE", 0.5)
    async with watching(changing, OPTIONS) as monitor:
        monitor.set_view(GROUP)
        await until(monitor, marked)
        with secure_broker.acl("changing", SEE_ANY_TOPIC):
            await until(monitor, complete)
        await until(monitor, marked)


async def test_kgtui_ls_watch_reports_hidden_offsets_only_while_a_permission_is_missing(
    secure_broker: Secure, changing: KafkaGroupAdmin
) -> None:
    """After a permission is granted, the lag stays a lower bound (`≥`) until kgtui reads the permissions again.

    `lag(max_age)` reads them again only if kgtui has last read them more than `max_age` seconds ago.
    """

    async def lag(max_age: float) -> tuple[LagTotal | None, bool]:
        """Read the group as `kgtui ls --watch --lag` does. Return its lag, and whether the read caused an error."""
        found = await select_groups(changing, groups=[GROUP], lag=True, access_max_age=max_age, timeout=30)
        return facts.lag_total(found.snapshot, GROUP), GROUP in found.snapshot.group_faults

    nothing_visible, complete = (LagTotal(None, 0, 0, hidden=True), True), (LagTotal(LAG, 0, 2), False)
    assert await lag(60) == nothing_visible
    with secure_broker.acl("changing", SEE_ANY_TOPIC):
        assert await lag(60) == (LagTotal(LAG, 0, 2, hidden=True), False)
        assert await lag(0) == complete
    assert await lag(0) == nothing_visible


async def test_users_who_cannot_read_acls_learn_of_a_newly_denied_topic(secure_broker: Secure) -> None:
    """While kgtui runs, an ACL denies the user DESCRIBE on the topic `team-b-events`, in which `GROUP` has offsets.

    The user `unsure` lacks DESCRIBE on the cluster, so kgtui cannot read this ACL. However, the offsets of `GROUP` no
    longer contain the topic, so kgtui notices the denial, and names the topic in an error.

    For every other group, kgtui then shows a lower bound of the lag, because this group might also have offsets in the
    topic.
    """

    async def lag(group: str) -> tuple[LagTotal | None, str]:
        found = await select_groups(admin, groups=[group], lag=True, access_max_age=60, timeout=30)
        fault = found.snapshot.group_faults.get(group)
        return facts.lag_total(found.snapshot, group), "" if fault is None else fault.message

    async with connect([secure_broker.sasl], read_properties(secure_broker.command_config("unsure"))) as admin:
        assert await lag(GROUP) == (LagTotal(LAG, 0, 2), "")
        with secure_broker.acl("unsure", SEE_OTHER_TOPIC, deny=True):
            total, message = await lag(GROUP)
            assert total == LagTotal(0, 0, 1, hidden=True)
            assert message.startswith("the offsets in topic team-b-events are hidden")
            assert await lag("team-a-app") == (LagTotal(6, 0, 1, hidden=True), "")
        await admin.access()
        assert await lag(GROUP) == (LagTotal(LAG, 0, 2), "")
