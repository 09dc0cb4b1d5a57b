"""Test of converting a group description to a row of the recorded table `groups` and back."""

from __future__ import annotations

from dataclasses import fields

from kgtui.history.rows import description_of_row, description_row, listing_row
from kgtui.model.group import GroupDescription, Listing
from kgtui.model.members import Member, Subtopology, Topology


def test_converting_a_group_description_to_a_row_and_back_does_not_change_it() -> None:
    description = GroupDescription(
        "orders.pay", "streams", "streams", "Stable", 2, "sticky", 7, 8, (Member("m", "c", "h"),), frozenset({"READ"}),
        Topology(3, (Subtopology("0", ("orders",), (), (), ()),)), "STORED", "StreamsGroupDescribe v0", False,
    )  # fmt: skip
    without = [one.name for one in fields(description) if getattr(description, one.name) == one.default]
    assert not without, "this test must set every attribute of the description"
    listing = Listing(description.type, description.protocol, description.state, description.coordinator)
    row = (*listing_row(listing), *description_row(description, 1_000))
    assert description_of_row("orders.pay", row, description.members or ()) == description
