"""Tests of the filter language.

A group whose lag is unknown matches neither `lag:0` nor `not:lag:0`. The same applies to other unknown values.
"""

from __future__ import annotations

import re
import sys
import time
from dataclasses import replace

import pytest

from kgtui.errors import QueryError
from kgtui.model.answer import Fault
from kgtui.model.group import Listing
from kgtui.model.query import HELP, Need, help_text, parse
from kgtui.model.query.term_catalog import TERM_KEYS
from kgtui.model.snapshot import Reading, Snapshot
from tests.scripted import ScriptedAdmin, member
from tests.unit.model.query_snapshots import CONSUMER, NOW, mixed_snapshot, snapshot, summary

EVERY = {"payments.settle", "payments.refund", "connect-cluster", "backfill tool", "Orders-Share", "old.group"}


def chosen(text: str, snap: Snapshot | None = None, marked: frozenset[str] = frozenset()) -> set[str]:
    """Return the ids of the groups that the filter `text` selects. Assert that `Query.matches` gives the same result.

    `marked` contains the ids of the groups that the user has marked.
    """
    snap = snap or mixed_snapshot()
    query = parse(text)
    found = query.select(snap, marked)
    assert {group for group in snap.groups if query.matches(group, snap, marked)} == set(found)
    assert len(found) == len(set(found))
    assert parse(query.describe()) == query
    return set(found)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", EVERY),
        ("  \t ", EVERY),
        ("payments", {"payments.settle", "payments.refund"}),
        ("PAYMENTS", {"payments.settle", "payments.refund"}),
        ("orders", {"Orders-Share"}),
        ("payments settle", {"payments.settle"}),
        ("settle,orders", {"payments.settle", "Orders-Share"}),
        ("not:payments", EVERY - {"payments.settle", "payments.refund"}),
        ("!payments", EVERY - {"payments.settle", "payments.refund"}),
        ("not:settle,orders", EVERY - {"payments.settle", "Orders-Share"}),
        ("not:not:settle", {"payments.settle"}),
        ("!!settle", {"payments.settle"}),
        ('"backfill tool"', {"backfill tool"}),
        (r"backfill\ tool", {"backfill tool"}),
        (r"backfill\x20tool", {"backfill tool"}),
        ("/^pay.+e/", {"payments.settle", "payments.refund"}),
        ("/^PAY.+settle$/", {"payments.settle"}),
        ("/(?-i)^PAY/", set()),
        ("/l t/", {"backfill tool"}),
        ("/settle/,/^old/,share", {"payments.settle", "old.group", "Orders-Share"}),
        ("not:/./", set()),
        ("fuzzy:pmtstl", {"payments.settle"}),
        ("fuzzy:OrSh", {"Orders-Share"}),
        ("not:fuzzy:es", {"backfill tool", "old.group"}),
        ("type:consumer", {"payments.settle"}),
        ("type:Consumer,SHARE", {"payments.settle", "Orders-Share"}),
        ("type:unknown", {"old.group"}),
        ("not:type:share", EVERY - {"Orders-Share", "old.group"}),
        ("type:c%", {"payments.settle", "payments.refund", "connect-cluster", "backfill tool"}),
        ('type:"quantum"', set()),
        ("protocol:connect", {"connect-cluster"}),
        ('protocol:""', {"backfill tool"}),
        ("state:stable", {"payments.settle", "connect-cluster", "Orders-Share"}),
        ("state:Empty,Dead", {"payments.refund", "backfill tool"}),
        ("state:unknown", {"old.group"}),
        ("not:state:Stable", {"payments.refund", "backfill tool"}),
        ("kind:simple", {"backfill tool"}),
        ("kind:consumer", {"payments.settle", "payments.refund", "old.group"}),
        ("coordinator:2", {"payments.refund", "backfill tool", "Orders-Share"}),
        ("coordinator:two%", {"payments.refund", "backfill tool", "Orders-Share"}),
        ("coordinator:one.kafka:9092", {"payments.settle", "connect-cluster", "old.group"}),
        ("topic:payments", {"payments.settle", "payments.refund"}),
        ("topic:rate*", {"payments.settle"}),
        ("topic:rate?", {"payments.settle"}),
        ("topic:%t%,rates", {"payments.settle", "payments.refund", "backfill tool"}),
        ("not:topic:payments", {"backfill tool"}),
        ("client:settle-%", {"payments.settle"}),
        ("host:10.0.3.%", {"payments.settle"}),
        ("host:/10.0.3.7", {"payments.settle"}),
        ("member:m-1", {"payments.settle"}),
        ("members:0", {"payments.refund", "backfill tool"}),
        ("members:2+", {"payments.settle"}),
        ("members:>2", {"payments.settle"}),
        ("members:<3", {"payments.refund", "backfill tool"}),
        ("members:unknown", {"Orders-Share"}),
        ("not:members:0", {"payments.settle"}),
        ("lag:1k+", {"payments.settle"}),
        ("lag:18.2k", {"payments.settle"}),
        ("lag:>=18.2k", {"payments.settle"}),
        ("lag:>18.2k", set()),
        ("lag:..1k", {"payments.refund"}),
        ("lag:0", {"payments.refund"}),
        ("lag:500+", {"payments.settle", "backfill tool"}),
        ("lag:10k..20k,0", {"payments.settle", "payments.refund"}),
        ("lag:unknown", {"Orders-Share", "backfill tool"}),
        ("empty:1h+", {"payments.refund"}),
        ("empty:..1h", set()),
        ("empty:unknown", {"backfill tool"}),
        ("age:..30s", {"payments.settle", "backfill tool", "Orders-Share"}),
        ("age:1m+", {"payments.refund"}),
        ("age:<1m", {"payments.settle", "backfill tool", "Orders-Share"}),
        ("age:unknown", {"connect-cluster", "old.group"}),
        ("fault:yes", {"Orders-Share"}),
        ("fault:no", EVERY - {"Orders-Share"}),
        ("type:classic payments lag:0 state:Empty", {"payments.refund"}),
    ],
)  # fmt: skip
def test_filters_select_the_expected_groups(text: str, expected: set[str]) -> None:
    assert chosen(text) == expected


def test_filter_can_select_groups_that_the_user_has_marked() -> None:
    marked = frozenset({"old.group"})
    assert chosen("marked:yes", marked=marked) == {"old.group"}
    assert chosen("marked:no", marked=marked) == EVERY - {"old.group"}
    assert chosen("!marked:yes", marked=marked) == EVERY - {"old.group"}


def test_filter_treats_a_partly_known_lag_as_a_lower_bound() -> None:
    """The group has a known lag of 700 records, and two partitions with unknown lag.

    Its total lag could be above or below 1,000, so neither `lag:1k+` nor `not:lag:1k+` matches.
    """
    snap = snapshot({"g": CONSUMER}, {"g": summary(1, 700, 2)})
    assert chosen("lag:500+", snap) == {"g"}
    assert chosen("lag:1k+", snap) == set()
    assert chosen("not:lag:1k+", snap) == set()
    assert chosen("not:lag:..500", snap) == {"g"}


def test_group_that_was_not_read_matches_neither_a_filter_term_nor_its_negation() -> None:
    """kgtui has not read the group's members and offsets yet, so it cannot tell whether `lag:0` is true or false."""
    snap = snapshot({"g": CONSUMER})
    for text in ("topic:x", "client:x", "host:x", "member:x", "lag:0", "members:0", "lag:unknown", "members:unknown"):
        assert chosen(text, snap) == set()
        assert chosen(f"not:{text}", snap) == set()


def test_filter_handles_unknown_lag_alike_for_one_and_all_groups() -> None:
    """Filters read the lags of all groups in a faster way than the lag of one group. `chosen` compares the results."""
    failed, hidden = (Fault(name, "no", code) for name, code in (("TIMED_OUT", 7), ("FORBIDDEN", 29)))
    never_read = replace(summary(lag=None), lag_at=None, fault=failed)
    summaries = {"never": never_read, "hidden": replace(summary(), fault=hidden), "late": summary(), "exact": summary()}
    snap = snapshot(dict.fromkeys(summaries, CONSUMER), summaries, faults={"late": hidden})
    assert chosen("lag:unknown", snap) == {"never", "hidden", "late"}
    assert chosen("lag:0", snap) == {"exact"}
    for text in ("not:lag:0", "not:lag:unknown", "lag:5+", "not:lag:1+"):
        assert "never" not in chosen(text, snap)


def test_group_whose_topics_are_unknown_matches_no_filter_term_about_topics() -> None:
    read = summary(topics=("orders",))
    failed = replace(read, topics=None, fault=Fault("REQUEST_TIMED_OUT", "no answer", 7, group="failed"))
    snap = snapshot({"read": CONSUMER, "failed": CONSUMER}, {"read": read, "failed": failed})
    assert chosen("topic:orders", snap) == {"read"}
    assert chosen("not:topic:payments", snap) == {"read"}
    assert chosen("topic:payments", snap) == set()
    assert parse("not:topic:payments").searched(snap) == (1, 2)


def test_filter_uses_background_reads_if_lists_lack_states_and_types() -> None:
    snap = snapshot(
        {"a": Listing(None, "consumer", None, 1), "b": Listing(None, "consumer", None, 1)},
        {"a": summary(state="Empty", type="classic")},
    )
    assert chosen("state:Empty", snap) == {"a"}
    assert chosen("type:classic", snap) == {"a"}
    assert chosen("not:state:Stable", snap) == {"a"}
    assert parse("state:Empty").searched(snap) == (1, 2)


def test_filter_uses_a_description_that_is_newer_than_the_background_read() -> None:
    """A background read 60 s ago found the client id `old`. A DescribeGroups request 1 s ago found `new`."""
    admin = ScriptedAdmin()
    admin.add("g", "consumer", members=(member("m-9", client_id="new"), member("m-8", instance_id="static-1")))
    old = snapshot({"g": CONSUMER}, {"g": summary(7, clients=("old",), age=60.0)})
    snap = Snapshot(
        2, NOW, old.cluster, old.groups, old.by_listing, old.summaries,
        details={"g": Reading(admin.descriptions["g"], NOW - 1)},
    )  # fmt: skip
    assert chosen("members:2 client:new member:static-%", snap) == {"g"}
    assert chosen("client:old", snap) == set()


def test_search_progress_counts_only_groups_that_can_match() -> None:
    snap = mixed_snapshot()
    # A candidate is a group that the terms about id, type and state do not exclude. `searched` returns the number of
    # candidates for which all other data that the filter needs is known, and the number of all candidates. For example,
    # the topics of only three of the six groups are known.
    assert parse("topic:payments").searched(snap) == (3, 6)
    assert parse("type:consumer settle topic:payments").searched(snap) == (1, 1)
    assert parse("connect topic:payments").searched(snap) == (0, 1)
    assert parse("empty:1h+").searched(snap) == (4, 6)
    assert parse("payments").searched(snap) == (2, 2)


def test_filter_needs_only_the_data_that_its_terms_and_sort_keys_use() -> None:
    assert parse("payments state:Empty").needs == frozenset()
    assert parse("topic:x").needs == {Need.DESCRIPTION, Need.OFFSETS}
    assert parse("lag:1k+").needs == {Need.OFFSETS}
    assert parse("sort:members").needs == {Need.DESCRIPTION}
    assert parse("empty:1h+").needs == {Need.WATCHING}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("sort:name", ["Orders-Share", "backfill tool", "payments.refund", "payments.settle"]),
        ("sort:name-", ["payments.settle", "payments.refund", "backfill tool", "Orders-Share"]),
        ("sort:lag-", ["payments.settle", "backfill tool", "payments.refund", "Orders-Share"]),
        ("sort:lag", ["payments.refund", "backfill tool", "payments.settle", "Orders-Share"]),
        ("sort:lag+", ["payments.refund", "backfill tool", "payments.settle", "Orders-Share"]),
        ("sort:members-,name-", ["payments.settle", "payments.refund", "backfill tool", "Orders-Share"]),
        ("sort:state sort:name-", ["payments.refund", "backfill tool", "payments.settle", "Orders-Share"]),
        ("sort:age", ["Orders-Share", "backfill tool", "payments.settle", "payments.refund"]),
        ("sort:type", ["backfill tool", "payments.refund", "payments.settle", "Orders-Share"]),
        ("sort:coordinator-", ["Orders-Share", "backfill tool", "payments.refund", "payments.settle"]),
    ],
)
def test_sort_term_in_a_filter_puts_groups_with_unknown_values_last(text: str, expected: list[str]) -> None:
    snap = mixed_snapshot()
    query = parse(f"{text} not:connect not:old")
    assert query.select(snap) == expected


def test_filtered_groups_are_sorted_by_id_by_default() -> None:
    assert parse("").select(mixed_snapshot()) == sorted(EVERY)


@pytest.mark.parametrize(
    ("text", "position", "length", "message"),
    [
        ("stat:Empty", 0, 5, "did you mean state?"),
        ("payments state:Stabel", 15, 6, "did you mean Stable?"),
        ("type:queue", 5, 5, "there is no type"),
        ("kind:fancy", 5, 5, "there is no kind"),
        ('kind:"fancy"', 5, 7, "there is no kind"),
        ("lag:1m", 4, 2, "M is a million"),
        ("lag:0,5..1", 6, 4, "range is empty"),
        ("lag:1.0005k", 4, 7, "not a whole number"),
        ("lag:", 4, 1, "a value is missing"),
        ("lag:,5", 4, 1, "a value is missing"),
        ("lag:..", 4, 2, "neither a start nor an end"),
        ("lag:<0", 4, 2, "less than 0"),
        ("lag:-5", 4, 2, "not a number"),
        ("lag:" + "9" * 16, 4, 16, "not a number"),
        ("lag:999999999999999k", 4, 16, "too large"),
        ("age:5k", 4, 2, "no unit"),
        ("empty:soon", 6, 4, "not a number"),
        ("/(/", 0, 3, "regular expression is wrong"),
        (r"/(a)\1/", 0, 7, "invalid escape"),
        ("/open", 0, 5, "regular expression is not closed"),
        ("a /b/c", 5, 1, "ends before"),
        ("topic:/x/", 6, 3, "only terms about the group id"),
        ('a "open', 2, 5, "quotation is not closed"),
        ("end\\", 3, 1, "ends with a backslash"),
        (r"\x4", 0, 3, "not a valid escape"),
        (r"\uzzzz", 0, 6, "not a valid escape"),
        (r"\U00110000", 0, 10, "not a valid escape"),
        ("not:", 0, 4, "a term is missing"),
        ("a !", 2, 1, "a term is missing"),
        ("fault:maybe", 6, 5, "yes or no"),
        ("fault:yes,no", 6, 6, "yes or no"),
        ("sort:size", 5, 4, "cannot be sorted by"),
        ("not:sort:lag", 0, 12, "cannot be negated"),
        ("verdict:wran+", 8, 5, "there is no verdict 'wran+' (did you mean warn?)"),
        ("x verdict:ok,stop+", 13, 5, "there is no verdict 'stop+' (did you mean stop?)"),
        ("x not:timelag:5k+", 14, 3, "there is no unit 'k' here"),
        ("fuzzy:\"\"", 6, 2, "text to search for is missing"),
        ("a" * 5000, 4096, 904, "too long"),
    ],
)  # fmt: skip
def test_syntax_error_in_a_filter_has_a_position_and_says_what_was_expected(
    text: str, position: int, length: int, message: str
) -> None:
    with pytest.raises(QueryError, match=re.escape(message)) as caught:
        parse(text)
    assert (caught.value.position, caught.value.length) == (position, length)
    assert caught.value.expected


def test_filter_accepts_a_quoted_type_or_state_that_kgtui_does_not_know() -> None:
    snap = snapshot({"q": Listing("quantum", "", "Superposed", 1), "g": CONSUMER})
    assert chosen('type:"quantum"', snap) == {"q"}
    assert chosen('state:"superposed"', snap) == {"q"}
    assert chosen("state:super%", snap) == {"q"}


def test_filter_finds_ids_with_special_characters_by_their_escaped_form() -> None:
    ids = ("[/red]", "a\x1b[31mb", "two\nlines", "x\u202ey", "lone\ud800", "münze", "a,b", "c:d", 'q"q', "back\\slash")
    snap = snapshot(dict.fromkeys(ids, CONSUMER))
    spelled = {
        "[/red]": "[/red]", "a\x1b[31mb": r"\x1b[31m", "two\nlines": r"two\nlines", "x\u202ey": r"\u202e",
        "lone\ud800": r"\ud800", "münze": "MÜNZE", "a,b": r"a\,b", "c:d": '"c:d"', 'q"q': r"\"", "back\\slash": r"k\\s",
    }  # fmt: skip
    for group, text in spelled.items():
        assert chosen(text, snap) == {group}
    assert chosen("/./", snap) == set(ids)
    assert "lone\ud800" in chosen("/lone.$/", snap)


def test_complex_patterns_in_filters_are_matched_in_linear_time() -> None:
    """A regular expression engine that uses backtracking would need years for some of these patterns."""
    long = "a" * 30_000
    snap = snapshot({long: CONSUMER, "a" * 249: CONSUMER}, {long: summary(topics=(long,))})
    start = time.process_time()
    assert chosen("/(a+)+(a+)+(a*)*b/", snap) == set()
    assert chosen("topic:" + "*a" * 40 + "*b", snap) == set()
    assert chosen("topic:" + "%a" * 40 + "%", snap) == {long}
    assert chosen("fuzzy:" + "a" * 200 + "b", snap) == set()
    assert chosen("not:" * 1000 + "a", snap) == {long, "a" * 249}
    assert time.process_time() - start < 5.0
    with pytest.raises(QueryError, match="regular expression is wrong"):
        parse("/" + "(" * 1500 + "a" + "{1000})" * 300 + "/")


def test_invalid_regular_expression_in_a_filter_writes_nothing_to_stderr(capfd: pytest.CaptureFixture[str]) -> None:
    """By default, RE2 writes errors to stderr, which would overwrite the terminal UI."""
    with pytest.raises(QueryError):
        parse("/a**(/")
    assert capfd.readouterr() == ("", "")


def test_filtering_in_several_steps_finds_the_same_groups_as_filtering_at_once() -> None:
    snap = snapshot({f"g-{i:05d}": CONSUMER for i in range(5_000)})
    steps = parse("g-0").steps(snap, size=500)
    pauses = 0
    try:
        while True:
            next(steps)
            pauses += 1
    except StopIteration as end:
        found = end.value
    assert pauses == 10
    assert found == parse("g-0").select(snap)


def test_filter_by_type_skips_the_ids_of_all_other_types() -> None:
    """Groups with the same type, protocol, state and coordinator share one `Listing`.

    The ids of these groups are in one list. The filter tests each `Listing` once. If the `Listing` does not match, the
    filter skips the whole list of ids.
    """

    class Unread(list[str]):
        def __iter__(self) -> None:  # type: ignore[override]
            raise AssertionError("the ids of groups with an excluded state were read")

    snap = snapshot({f"g-{i}": CONSUMER for i in range(10)})
    other = Listing("share", "share", "Stable", 1)
    by_listing = {**snap.by_listing, other: Unread(["s"])}
    snap = Snapshot(1, NOW, snap.cluster, {**snap.groups, "s": other}, by_listing)
    assert len(parse("type:consumer g-").select(snap)) == 10


def test_examples_in_the_filter_help_are_valid_and_need_no_shell_quotes() -> None:
    for row in HELP:
        assert re.fullmatch(r"[A-Za-z0-9_./:,%+^-]+", row.example), row.example
        assert row.example[0] not in "-%~^"
        assert parse(parse(row.example).describe()) == parse(row.example)
        assert row.example in help_text()


def test_filter_help_contains_every_filter_term_and_its_values() -> None:
    """If a term has the values `yes` and `no`, the help needs to contain only one of them."""
    shown = " ".join(f"{row.term} {row.example}" for row in HELP)
    assert [key for key in (*TERM_KEYS, "sort") if f"{key}:" not in shown] == []
    explained = {row.term: f"{row.meaning} {row.example}" for row in HELP}
    missing = {
        entry.key: values
        for entry in TERM_KEYS.values()
        if (values := [value for value in entry.values if value not in explained[entry.heading or f"{entry.key}:"]])
        and {*values} not in ({"yes"}, {"no"})
    }
    assert missing == {}


def test_re2_module_is_imported_only_if_a_filter_contains_a_regular_expression() -> None:
    import subprocess

    code = (
        "import sys; from kgtui.model.query import parse; parse('a type:share topic:x%'); print('re2' in sys.modules)"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "False"
