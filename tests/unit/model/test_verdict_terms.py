"""Tests of the filter terms `verdict:` (a group's health verdict) and `timelag:` (age of the oldest unread record)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgtui.model.health import GroupHealth, Watching, health_of
from kgtui.model.query import Need, parse
from kgtui.model.query.term_catalog import TERM_KEYS, UNKNOWN
from kgtui.model.query.verdict_terms import LEVELS, NAMES, VerdictMatch, VerdictTerm
from tests.unit.model.health.reads import offsets, watch
from tests.unit.model.query_snapshots import mixed_snapshot

if TYPE_CHECKING:
    from kgtui.model.snapshot import Snapshot


def watched() -> dict[str, GroupHealth]:
    """Return the health of five groups, each with a different verdict: group id → health."""
    rewind = [offsets((500, 900)), offsets((600, 900)), offsets((200, 900))]
    slow = [offsets((1000 + 10 * n, 3000 + 14 * n)) for n in range(12)]
    stuck = [offsets((1000, 1100 + 10 * n)) for n in range(12)]
    gone = watch(stuck)
    gone.mark_gone()
    return {
        "healthy": health_of(watch([offsets((5, 5))] * 3)),
        "slow": health_of(watch(slow)),
        "stopped": health_of(watch(stuck)),
        "rewound": health_of(watch(rewind)),
        "gone": health_of(gone),
    }


def test_the_verdict_term_of_a_filter_accepts_every_verdict() -> None:
    assert TERM_KEYS["verdict"].values == (*NAMES, UNKNOWN)


@pytest.fixture
def snapshot() -> Snapshot:
    """Return a snapshot with five groups whose health is known, and the group `unseen`, whose health is unknown."""
    names = [*watched(), "unseen"]
    listing = next(iter(mixed_snapshot().groups.values()))
    return replace(
        mixed_snapshot(), groups=dict.fromkeys(names, listing), by_listing={listing: names}, health=watched()
    )


@pytest.mark.parametrize(
    ("text", "chosen"),
    [
        ("verdict:ok", {"healthy"}),
        ("verdict:warn", {"slow"}),
        ("verdict:warn+", {"slow", "stopped", "rewound"}),
        ("verdict:error", {"stopped", "rewound"}),
        ("verdict:ERR+", {"stopped", "rewound"}),
        ("verdict:stop", {"stopped"}),
        ("verdict:rewind,warning", {"slow", "rewound"}),
        ("verdict:stall", set()),
        ("verdict:ok+", {"healthy", "slow", "stopped", "rewound"}),
        ("verdict:unknown", {"unseen", "gone"}),
        ("not:verdict:ok", {"slow", "stopped", "rewound"}),
        ("verdict:warn+ slow", {"slow"}),
        ("verdict:behind", {"slow"}),
        ("verdict:abandoned", set()),
        ("sort:verdict- verdict:warn+", {"slow", "stopped", "rewound"}),
        ("timelag:50s+", {"slow", "stopped"}),
        ("timelag:..10s", {"healthy"}),
        ("not:timelag:50s+", {"healthy"}),
        ("timelag:unknown not:verdict:warn+,ok", set()),
        ("timelag:unknown", {"gone", "slow", "stopped", "rewound"}),
    ],
)
def test_filter_terms_about_verdicts_select_the_expected_groups(
    snapshot: Snapshot, text: str, chosen: set[str]
) -> None:
    query = parse(text)
    assert set(query.select(snapshot)) == chosen
    assert {group for group in snapshot.groups if query.matches(group, snapshot)} == chosen
    assert Need.WATCHING in query.needs


def test_verdict_filter_counts_a_group_as_searched_if_its_health_is_known(snapshot: Snapshot) -> None:
    assert parse("verdict:warn+").searched(snapshot) == (5, 6)
    assert parse("timelag:1s+").searched(snapshot) == (5, 6)


matches = st.one_of(
    st.builds(VerdictMatch, st.sampled_from(LEVELS), st.booleans()),
    st.builds(VerdictMatch, st.sampled_from([*NAMES, UNKNOWN])),
)


@given(st.lists(matches, min_size=1, max_size=4).map(tuple), st.booleans())
def test_verdict_term_is_unchanged_after_formatting_and_parsing(
    any_of: tuple[VerdictMatch, ...], negated: bool
) -> None:
    term = VerdictTerm(any_of, negated)
    assert parse(term.spelled()).terms == (term,)


def test_time_lag_known_only_as_minimum_matches_no_maximum_filter() -> None:
    """kgtui only knows that the time lag of the group is at least 10 s, so the time lag may be below or above 20 s.

    Therefore, neither `timelag:..20s` nor `not:timelag:..20s` matches.
    """
    seen = health_of(watch([offsets((900, 1000 + 10 * n)) for n in range(3)], watching=Watching()))
    listing = next(iter(mixed_snapshot().groups.values()))
    snapshot = replace(mixed_snapshot(), groups={"g": listing}, by_listing={listing: ["g"]}, health={"g": seen})
    assert parse("timelag:..20s").select(snapshot) == []
    assert parse("not:timelag:..20s").select(snapshot) == []
    assert parse("timelag:10s+").select(snapshot) == ["g"]
