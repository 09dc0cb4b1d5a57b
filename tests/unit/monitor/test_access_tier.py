"""Tests that the monitor reads the user's permissions, and marks lags that can be incomplete."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from kgtui.model import facts
from kgtui.model.access import FULL_ACCESS, Access
from kgtui.model.offsets import LagTotal
from kgtui.monitor.policy import ACCESS_MAX_AGE
from tests.scripted import ScriptedAdmin, member
from tests.unit.monitor.watching import FAST, until, watching


@pytest.fixture
def admin() -> ScriptedAdmin:
    admin = ScriptedAdmin()
    admin.add("orders", "consumer", members=(member(topics=("t-orders",)),), lag=7)
    return admin


async def test_permissions_are_read_after_the_first_list_of_groups(admin: ScriptedAdmin) -> None:
    admin.user_access = Access(frozenset(), any_topic=False)
    admin.add("quiet", "consumer")
    async with watching(admin) as monitor:
        monitor.set_view("quiet")
        snapshot = await until(monitor, lambda snapshot: facts.hidden_offsets_fault(snapshot, "quiet") is not None)
        assert snapshot.access == admin.user_access
        began = snapshot.summaries["quiet"].at
        await until(monitor, lambda later: later.summaries["quiet"].at > began)
        snapshot = await until(monitor, lambda later: later.swept == len(admin.groups))
        assert facts.lag_total(snapshot, "orders") == LagTotal(7, 0, 1, hidden=True)
    called = [call for call, _ in admin.calls]
    assert called.index("list_groups" if "list_groups" in called else "poll") < called.index("access")


async def test_lag_is_possibly_incomplete_if_the_user_cannot_describe_topics(
    admin: ScriptedAdmin,
) -> None:
    async with watching(admin) as monitor:
        await until(monitor, lambda snapshot: snapshot.access is not None and snapshot.swept == 1)
        assert not facts.may_hide_topics(monitor.snapshot, "orders")
        admin.user_access = Access(frozenset(), any_topic=False)
        await until(monitor, lambda snapshot: facts.may_hide_topics(snapshot, "orders"))
        admin.user_access = FULL_ACCESS
        await until(monitor, lambda snapshot: not facts.may_hide_topics(snapshot, "orders"))


@pytest.mark.parametrize("selected", ["orders", None])
async def test_lag_stays_incomplete_until_offsets_are_read_again(admin: ScriptedAdmin, selected: str | None) -> None:
    """The user has DESCRIBE on all topics now, but lacked it when the offsets were read, so some lag may be missing."""
    admin.hidden = {"orders": ()}
    async with watching(admin) as monitor:
        monitor.set_view(selected)
        await until(monitor, lambda snapshot: facts.may_hide_topics(snapshot, "orders"))
        assert facts.lag_total(monitor.snapshot, "orders") == LagTotal(7, 0, 1, hidden=True)
        assert not monitor.snapshot.hides_topics
        admin.hidden = {}
        await until(monitor, lambda snapshot: facts.lag_total(snapshot, "orders") == LagTotal(7, 0, 1))


async def test_a_manual_refresh_reads_the_permissions_immediately(
    admin: ScriptedAdmin, monkeypatch: pytest.MonkeyPatch
) -> None:
    ages: asyncio.Queue[float] = asyncio.Queue()

    async def access(*, max_age: float, timeout: float) -> Access:
        ages.put_nowait(max_age)
        return FULL_ACCESS

    monkeypatch.setattr(admin, "access", access)
    async with watching(admin, replace(FAST, interval=300.0)) as monitor:
        async with asyncio.timeout(10):
            assert await ages.get() == ACCESS_MAX_AGE
            monitor.refresh()
            assert await ages.get() == 0.0
