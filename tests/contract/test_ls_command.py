"""Tests of `kgtui ls` and `kgtui show` on real brokers with live groups of every type."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from kgtui.cli import main

if TYPE_CHECKING:
    import pytest

    from tests.brokers.groups import LiveGroup
    from tests.brokers.live import Live


def run(capfd: pytest.CaptureFixture[str], *words: str) -> dict[str, Any]:
    """Run a kgtui command, and return the JSON that it prints.

    Assert that the command succeeds and writes nothing to standard error.
    """
    capfd.readouterr()
    code = main([*words, "--format", "json"])
    out, err = capfd.readouterr()
    assert (code, err) == (0, "")
    found: dict[str, Any] = json.loads(out)
    return found


def summed(group: LiveGroup) -> int | None:
    """Return the sum of the group's lags in all partitions with a known lag; None if no lag is known."""
    known = [lag for lag in group.lags.values() if lag is not None]
    return sum(known) if known else None


def test_kgtui_ls_prints_type_state_members_and_lag_of_every_group(
    live: Live, capfd: pytest.CaptureFixture[str]
) -> None:
    found = run(capfd, "ls", "--bootstrap-server", live.bootstrap, "--lag", "--members")
    rows = {row["group"]: row for row in found["groups"]}
    assert found["coverage"]["brokers"] == [1, 1]
    expected = {
        group.id: (group.type, group.protocol, group.state, group.members, summed(group))
        for group in live.groups.values()
    }
    names = ("type", "protocol", "state", "members", "lag")
    assert {group: tuple(rows[group][name] for name in names) for group in expected} == expected


def test_kgtui_show_prints_type_state_members_and_lag_of_each_group(
    live: Live, capfd: pytest.CaptureFixture[str]
) -> None:
    for group in live.groups.values():
        (row,) = run(capfd, "show", group.id, "--bootstrap-server", live.bootstrap)["groups"]
        assert (row["type"], row["state"], len(row["members"])) == (group.type, group.state, group.members)
        lags = {(p["topic"], p["partition"]): p["lag"] for p in row["partitions"]}
        assert {key: lags.get(key) for key in group.lags} == group.lags


def test_kgtui_ls_with_a_type_filter_lists_every_group_of_that_type(
    live: Live, capfd: pytest.CaptureFixture[str]
) -> None:
    for group_type in {group.type for group in live.groups.values()}:
        found = run(capfd, "ls", f"type:{group_type}", "--bootstrap-server", live.bootstrap)
        listed = {row["group"] for row in found["groups"]}
        assert {group.id for group in live.of_type(group_type)} <= listed
        assert {row["type"] for row in found["groups"]} == {group_type}
