"""Tests of the Events screen, which lists the changes in a running cluster or a recording, newest first."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from kgtui.model.answer import Fault
from kgtui.model.event import Event, EventKind, disappeared
from kgtui.model.event_search import broker_lost, listing_events
from kgtui.model.group import Listing
from kgtui.tui.screens.events import MAX_EVENTS, EventsScreen
from tests.pilot.app_driver import app_on, main_screen, sample_snapshot, screen_words, settled, until
from tests.pilot.history import sample_history
from tests.pilot.history.test_replay_actions import replaying
from tests.pilot.scripted_monitor import NOW

if TYPE_CHECKING:
    from pathlib import Path

    import pytest
    from textual.pilot import Pilot

    from kgtui.tui.app import KgtuiApp

STABLE = Listing("consumer", "consumer", "Stable", 3)
EMPTY = replace(STABLE, state="Empty")
EVENTS = (
    *listing_events("orders.export", NOW - 3_000, STABLE, EMPTY),
    Event(NOW - 300, EventKind.LEFT, "payments.settle", STABLE, "m-1", None, "client-1 at /10.0.0.1"),
    disappeared("orders.gone", NOW - 200, EMPTY),
    broker_lost(2, "broker-2:9092", NOW - 100, Fault("TIMEOUT", "no response")),
    Event(NOW - 50, EventKind.REWOUND, "payments.settle", STABLE, 900, 400, "t-0"),
)


async def opened(pilot: Pilot[int], app: KgtuiApp) -> EventsScreen:
    """Press `E`, wait until the Events screen shows the events, and return this screen."""
    await settled(pilot)
    await pilot.press("E")
    await until(pilot, lambda: isinstance(app.screen, EventsScreen) and bool(app.screen.table.rows))
    screen = app.screen
    assert isinstance(screen, EventsScreen)
    return screen


def kinds(screen: EventsScreen) -> list[str]:
    return [row.kind for row in screen.table.rows]


async def test_events_of_the_last_ten_minutes_are_listed_newest_first(tmp_path: Path) -> None:
    """A cursor on the newest event moves to each new event. A cursor on an older event stays on this event."""
    app, monitor = app_on(sample_snapshot(events=EVENTS, events_since=NOW - 30_000), tmp_path)
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await opened(pilot, app)
        assert kinds(screen) == ["rewound", "broker-lost", "disappeared", "left"]
        words = screen_words(app)
        assert "4 events in 10 m" in words
        assert "client-1 at /10.0.0.1 left" in words
        assert "broker 2 (broker-2:9092) does not answer: no response" in words
        assert "kgtui started" not in words
        later = Event(NOW, EventKind.JOINED, "payments.settle", STABLE, None, "m-2", "client-2 at /10.0.0.2")
        monitor.publish(sample_snapshot(events=(*EVENTS, later)))
        await until(pilot, lambda: kinds(screen)[0] == "joined")
        assert screen.table.cursor == 0, "with the cursor on the newest event, the table follows the events"
        await pilot.press("down", "down")
        monitor.publish(sample_snapshot(events=(*EVENTS, later, later._replace(at=NOW + 1))))
        await until(pilot, lambda: len(kinds(screen)) == 6)
        assert screen.table.row is not None
        assert screen.table.row.kind == "broker-lost"


async def test_the_list_of_events_can_be_limited_by_time_kind_group_and_filter(tmp_path: Path) -> None:
    app, _ = app_on(sample_snapshot(events=EVENTS, events_since=NOW - 3_100), tmp_path)
    async with app.run_test(size=(120, 40), notifications=True) as pilot:
        await settled(pilot)
        main_screen(app).go_to("payments.settle")
        screen = await opened(pilot, app)
        await pilot.press("v")
        await until(pilot, lambda: "state" in kinds(screen))
        await pilot.press("v")
        await until(pilot, lambda: "no events before 09:01:40, when kgtui started" in screen_words(app))
        await pilot.press("o")
        await until(pilot, lambda: kinds(screen) == ["disappeared", "state"])
        await pilot.press("o", "o", "o", "o", "o", "l")
        await until(pilot, lambda: kinds(screen) == ["rewound", "left"])
        await pilot.press("l", "slash", *"orders", "enter")
        await until(pilot, lambda: kinds(screen) == ["disappeared", "state"])
        await pilot.press("enter")
        await until(pilot, lambda: "orders.gone no longer exists" in screen_words(app))
        await pilot.press("down", "enter")
        await until(pilot, lambda: main_screen(app).group == "orders.export")
        assert app.screen is main_screen(app)


async def test_one_row_counts_older_changes_of_a_group_and_enter_lists_them(tmp_path: Path) -> None:
    """Only the five newest changes of a group have their own rows, which leaves room for the changes of other groups.

    One more row says how many older changes the group has.
    """
    joined = Event(NOW, EventKind.JOINED, "payments.settle", STABLE, None, "m-2", "client-2 at /10.0.0.2")
    flapping = [joined._replace(at=NOW - 90 + number) for number in range(60)]
    app, _ = app_on(sample_snapshot(events=(*EVENTS, *flapping)), tmp_path)
    async with app.run_test(size=(80, 24)) as pilot:
        screen = await opened(pilot, app)
        assert kinds(screen) == [*["joined"] * 5, "more", "broker-lost", "disappeared"]
        assert "57 more: 55 joined, 1 rewound, 1 left" in screen_words(app)
        await pilot.press("down", "down", "down", "down", "down", "enter")
        await until(pilot, lambda: kinds(screen)[-2:] == ["rewound", "left"] or len(kinds(screen)) == 62)
        assert len(kinds(screen)) == 62
        assert "group payments.settle" in screen_words(app)
        await pilot.press("l")
        await until(pilot, lambda: "more" in kinds(screen))


async def test_the_events_screen_says_that_there_are_no_changes(tmp_path: Path) -> None:
    app, monitor = app_on(sample_snapshot(), tmp_path)
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await pilot.press("E")
        await until(pilot, lambda: "kgtui has found no changes in this time span" in screen_words(app))
        await pilot.press("E")
        await settled(pilot)
        assert app.screen is main_screen(app)
        monitor.publish(sample_snapshot(events=EVENTS))
        await settled(pilot)


async def test_the_events_screen_of_a_recording_ends_at_the_displayed_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KGTUI_CONFIG_DIR", str(tmp_path / "config"))
    async with replaying(tmp_path, "0s") as (app, pilot, admin):
        await admin.seek(sample_history.time_of_poll(sample_history.GAP + 5))
        screen = await opened(pilot, app)
        assert {row.event.group for row in screen.table.rows} == {"late", "early"}
        assert {"appeared", "joined", "disappeared"} <= set(kinds(screen))
        await pilot.press("v")
        await until(pilot, lambda: "state" in kinds(screen))
        assert all(row.event.at <= admin.poll.at for row in screen.table.rows)
        assert {"always", sample_history.GROUP} <= {row.event.group for row in screen.table.rows}


async def test_filtering_for_a_deleted_group_shows_when_the_group_disappeared(tmp_path: Path) -> None:
    app, _ = app_on(sample_snapshot(events=EVENTS), tmp_path)
    async with app.run_test(size=(120, 40)) as pilot:
        await settled(pilot)
        await pilot.press("slash", *"orders.gone", "enter")
        await settled(pilot)
        await until(pilot, lambda: "orders.gone: deleted or expired at 09:50:00" in screen_words(app))


async def test_only_the_newest_2000_of_10000_events_are_listed(tmp_path: Path) -> None:
    """If all 10,000 events were listed, each new event would delay the handling of keys."""
    events = [disappeared(f"g-{number}", NOW - 500 + number / 100, EMPTY) for number in range(10_000)]
    app, _ = app_on(sample_snapshot(events=events), tmp_path)
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await opened(pilot, app)
        assert (len(screen.table.rows), screen.table.rows[0].event.group) == (MAX_EVENTS, "g-9999")
        assert "10,000 events in 10 min" in screen_words(app)
        assert "only the newest 2,000 are listed" in screen_words(app)
