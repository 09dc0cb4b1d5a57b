"""Tests of `kgtui ls`: the requests that it sends, its output, and its exit codes."""

from __future__ import annotations

import csv
import io
import json
from typing import TYPE_CHECKING

import pytest

from kgtui.commands.parser import parse_args
from kgtui.commands.printing import print_result
from kgtui.errors import DeadlineError
from kgtui.model.access import Access
from kgtui.model.answer import Fault
from tests.unit.commands.listing import calls, groups, listed_cluster

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.scripted import ScriptedAdmin
    from tests.unit.commands.runs import Completed


@pytest.fixture
def admin() -> ScriptedAdmin:
    return listed_cluster()


def test_kgtui_ls_without_options_lists_groups_but_does_not_describe_them(
    run: Callable[..., Completed], admin: ScriptedAdmin
) -> None:
    ran = run("ls")
    assert (ran.code, ran.err) == (0, "")
    assert groups(ran) == ["connect", "idle", "pay", "queue"]
    assert set(calls(admin)) == {"list_groups", "cluster"}


def test_kgtui_ls_reads_details_only_of_groups_that_can_match_the_filter(
    run: Callable[..., Completed], admin: ScriptedAdmin
) -> None:
    ran = run("ls", "not:type:share", "members:1+", "lag:1k+")
    assert groups(ran) == ["pay"]
    asked = calls(admin)
    assert sorted(asked["describe_groups"]) == ["connect", "idle", "pay"]
    assert asked["committed_offsets"] == ("pay",)
    assert "share_offsets" not in asked


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        (("payx,pay",), ["pay"]),
        (("pay queue",), []),
        (("pay,queue", "type:share"), ["queue"]),
        (("--filter", "type:classic"), ["connect", "idle"]),
        (("--filter", "type:classic", "idle"), ["idle"]),
        (("topic:t-%",), ["idle", "pay", "queue"]),
        (("client:c-1",), ["pay"]),
        (("sort:lag-",), ["pay", "queue", "idle", "connect"]),
        (("sort:members-", "members:1+"), ["pay", "connect"]),
        (("coordinator:2",), ["idle"]),
        (("lag:0",), []),
    ],
)
def test_kgtui_ls_prints_matching_groups_in_the_sort_order_of_the_filter(
    run: Callable[..., Completed], expression: tuple[str, ...], expected: list[str]
) -> None:
    ran = run("ls", *expression)
    assert (ran.code, groups(ran)) == (0 if expected else 1, expected)


def test_kgtui_ls_explains_that_the_word_and_is_no_filter_operator(
    run: Callable[..., Completed], admin: ScriptedAdmin
) -> None:
    admin.add("demand", "consumer")
    ran = run("ls", "type:consumer", "AND", "mand")
    assert groups(ran) == ["demand"]
    assert "AND is read as a part of group ids" in ran.err
    assert "did you mean type:consumer mand" in ran.err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["unlike"], "no group matches the filter; to find out why, run kgtui doctor unlike"),
        (["members=0"], "no group matches the filter; did you mean members:0"),
        (["type:classic", "AND", "lag>100"], "no group matches the filter; did you mean type:classic lag:101+"),
        (["PAYY"], "no group matches the filter; similar: pay"),
        (["paymnets"], "no group matches the filter; similar: eu.payments-settle.v2"),
        (["queu3", "type:share"], "no group matches the filter; similar: queue"),
        (
            ["pay", "idle"],
            ("no group matches the filter; similar: pay, idle; the filter matches only ids that contain all 2 words; "
            "to use the words as group ids, pass --group pay --group idle"),
        ),
        (["--group", "idl", "--group", "pay"], "there is no group 'idl'; similar: idle"),
    ],
)  # fmt: skip
def test_kgtui_ls_reports_missing_groups_and_suggests_similar_ids(
    run: Callable[..., Completed], admin: ScriptedAdmin, words: list[str], message: str
) -> None:
    admin.add("eu.payments-settle.v2")
    ran = run("ls", *words)
    assert (ran.code, ran.err) == (1, f"kgtui: {message}\n")
    assert run("ls", *words, "--allow-empty") == (0, ran.out, ran.err)


def test_kgtui_ls_can_list_exactly_the_given_group_ids(run: Callable[..., Completed], admin: ScriptedAdmin) -> None:
    admin.add("type:share", lag=3)
    ran = run("ls", "--group", "type:share", "--group", "idle", "--lag")
    assert (ran.code, groups(ran)) == (0, ["idle", "type:share"])
    assert calls(admin)["committed_offsets"] == ("idle", "type:share")
    assert run("ls", "--group", "pay", "idle").code == 2


def test_options_of_kgtui_ls_are_accepted_before_and_after_the_command_name(run: Callable[..., Completed]) -> None:
    assert groups(run("--filter", "pay", "ls")) == ["pay"]
    assert groups(run("--timeout", "5", "ls", "pay", "--timeout", "6")) == ["pay"]
    assert groups(run("--timeout", "30s", "ls", "pay", "--timeout=1.5m")) == ["pay"]


def test_kgtui_ls_json_and_csv_contain_only_groups_that_match_the_filter(run: Callable[..., Completed]) -> None:
    found = json.loads(run("ls", "--format", "json", "--lag", "--members", "pay").out)
    assert found["coverage"] == {"brokers": [3, 3], "groups": [1, 1]}
    assert [(row["group"], row["members"], row["lag"]) for row in found["groups"]] == [("pay", 2, 1500)]
    rows = list(csv.DictReader(io.StringIO(run("ls", "--format", "csv", "pay").out)))
    assert [(row["group"], row["members"], row["lag"]) for row in rows] == [("pay", "", "")]


def test_kgtui_ls_csv_escapes_control_characters_only_on_a_terminal(
    run: Callable[..., Completed], admin: ScriptedAdmin, monkeypatch: pytest.MonkeyPatch
) -> None:
    admin.add("evil\x1b[31m\u202e")
    assert "evil\x1b[31m\u202e,classic" in run("ls", "--format", "csv", "evil").out
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    assert "evil\\x1b[31m\\u202e,classic" in run("ls", "--format", "csv", "evil").out


def test_print_result_raises_key_error_for_an_unknown_output_format(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(KeyError, match="markdown"):
        print_result("markdown", {"table": lambda: "PAY\n", "json": lambda: b"{}\n"})
    assert capsys.readouterr().out == ""


def test_kgtui_ls_wide_format_shows_kind_and_coordinator_address(run: Callable[..., Completed]) -> None:
    ran = run("ls", "--format", "wide", "pay")
    assert ran.out.splitlines()[0].split()[:2] == ["GROUP", "KIND"]
    assert "127.0.0.1:9092 (1)" in ran.out


def test_kgtui_ls_reports_a_partial_result_if_a_broker_does_not_respond(
    run: Callable[..., Completed], admin: ScriptedAdmin
) -> None:
    admin.broken[2] = DeadlineError("no answer within 30 s", broker=2)
    ran = run("ls")
    assert ran.code == 1
    assert groups(ran) == ["connect", "pay", "queue"]
    assert "kgtui: partial result: 2 of 3 brokers answered\n" in ran.err
    assert "broker 2: no answer within 30 s" in ran.err
    found = json.loads(run("ls", "--format", "json").out)
    assert found["coverage"]["brokers"] == [2, 3]
    assert found["faults"][0]["broker"] == 2


def test_kgtui_ls_says_that_a_silent_broker_may_have_the_missing_group(
    run: Callable[..., Completed], admin: ScriptedAdmin
) -> None:
    admin.broken[2] = DeadlineError("no answer within 30 s", broker=2)
    ran = run("ls", "--group", "idle")
    assert ran.code == 1
    assert "not known whether the group 'idle' exists, because 1 of 3 brokers did not answer" in ran.err
    assert "there is no group" not in ran.err


@pytest.mark.parametrize("words", [("ls",), ("ls", "--lag"), ("ls", "state:Empty"), ("check", "--for", "1s")])
def test_kgtui_ls_and_check_say_that_no_groups_are_visible_to_the_user(
    run: Callable[..., Completed], admin: ScriptedAdmin, words: tuple[str, ...]
) -> None:
    admin.groups.clear()
    admin.user_access = Access(frozenset(), any_topic=False)
    ran = run(*words)
    assert ran.code == 1
    assert "kgtui: there is no group that you are allowed to see." in ran.err
    assert "DESCRIBE on the cluster" in ran.err
    ran = run(*words, "--allow-empty")
    assert ran.code == 0
    assert "there is no group that you are allowed to see" in ran.err


def test_kgtui_ls_of_a_cluster_without_groups_exits_with_0(run: Callable[..., Completed], admin: ScriptedAdmin) -> None:
    admin.groups.clear()
    ran = run("ls")
    assert (ran.code, groups(ran), ran.err) == (0, [], "")


def test_kgtui_ls_prints_one_line_for_the_same_error_of_several_groups(
    run: Callable[..., Completed], admin: ScriptedAdmin
) -> None:
    for group in ("pay", "idle"):
        admin.broken[group] = Fault("GROUP_AUTHORIZATION_FAILED", "forbidden", 30, group=group)
    ran = run("ls", "--lag")
    assert ran.err.count("GROUP_AUTHORIZATION_FAILED") == 1
    assert "(and 1 more with the same error)" in ran.err


def test_kgtui_ls_says_that_the_filter_term_empty_needs_the_terminal_ui(run: Callable[..., Completed]) -> None:
    """`empty:1h+` selects groups that have been Empty for at least 1 h. Only the terminal UI can measure this time."""
    ran = run("ls", "empty:1h+")
    assert (ran.code, groups(ran)) == (1, [])
    assert "the filter could not be applied to 1 of 4 groups" in ran.err
    assert "the filter term `empty:` works only in the terminal UI" in ran.err
    assert "--watch" not in ran.err


def test_kgtui_ls_says_that_the_filter_term_age_needs_the_terminal_ui(run: Callable[..., Completed]) -> None:
    ran = run("ls", "age:..30s")
    assert (ran.code, groups(ran)) == (1, [])
    assert "the filter term `age:` works only in the terminal UI" in ran.err


def test_age_inside_a_regular_expression_is_not_mistaken_for_a_filter_term(run: Callable[..., Completed]) -> None:
    ran = run("ls", "/storage:1/")
    assert "the filter term `age:`" not in ran.err


def test_kgtui_ls_without_watch_has_verdicts_only_for_groups_without_members(run: Callable[..., Completed]) -> None:
    ran = run("ls", "verdict:warn+")
    assert (ran.code, groups(ran)) == (0, ["idle"])
    assert "could not be applied to 2 of 4 groups" in ran.err
    assert "the filter terms `verdict:` and `timelag:` need several reads; add --watch, or use kgtui check" in ran.err


@pytest.mark.parametrize(("verdict", "found"), [("empty", ["idle"]), ("unused,abandoned", [])])
def test_kgtui_ls_can_select_empty_and_unused_groups_without_watch(
    run: Callable[..., Completed], verdict: str, found: list[str]
) -> None:
    """The filters `verdict:empty` and `verdict:unused` work without `--watch`, as only groups without members match.

    For a group with members, kgtui has no verdict (such as `OK` or `stopped`) without `--watch`.
    """
    ran = run("ls", f"verdict:{verdict}")
    assert groups(ran) == found
    assert "could not be applied" not in ran.err


def test_kgtui_ls_escapes_control_characters_in_group_ids(run: Callable[..., Completed], admin: ScriptedAdmin) -> None:
    admin.add("\x1b[2Jx\n", state="Empty")
    ran = run("ls")
    assert r"\x1b[2Jx\n" in ran.out
    assert "\x1b" not in ran.out
    assert "\x1b[2Jx\n" in [row["group"] for row in json.loads(run("ls", "--format", "json").out)["groups"]]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("ls", "stat:x"), "filter, at character 1: there is no term stat: (did you mean state?)"),
        (("ls", "a", "lag:x"), "filter, at character 7: 'x' is not a number"),
        (("ls", "verdict:wran+"), "there is no verdict 'wran+' (did you mean warn?)"),
        (("ls", "--format", "xml"), "invalid choice: 'xml'"),
        (("ls", "--watch", "0"), "--watch takes a duration above 0"),
        (("ls", "--watch=soon"), "argument --watch: 'soon' is not a duration above 0, such as 5s"),
        (("ls", "--watch=inf"), "argument --watch: 'inf' is not a duration above 0, such as 5s"),
        (("ls", "--timeout", "0"), "--timeout takes a duration above 0, such as 90s, 2m or 1.5h, not '0'"),
        (("ls", "--timeout", "1m+"), "--timeout takes a duration above 0, such as 90s, 2m or 1.5h, not '1m+'"),
        (("--timeout=-1", "ls"), "--timeout: '-1' is not a number"),
        (("ls", "--timeout", "nan"), "--timeout: 'nan' is not a number"),
        (("ls", "--lags"), "--lags"),
        (("ls", "--lake", "x", "--watch", "5"), "--watch cannot be used with --lake"),
        (("doctor", "--lake", "x"), "--lake needs GROUP"),
        (("doctor", "group", "--lake", "x"), "x does not exist"),
    ],
)
def test_kgtui_ls_with_wrong_options_exits_with_2_and_prints_one_line(
    run: Callable[..., Completed], words: tuple[str, ...], message: str
) -> None:
    ran = run(*words)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("kgtui: ")
    assert ran.err.count("\n") == 1
    assert message in ran.err


def test_kgtui_ls_watch_prints_one_json_document_per_line_until_ctrl_c(
    run: Callable[..., Completed], admin: ScriptedAdmin, monkeypatch: pytest.MonkeyPatch
) -> None:
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)
        if len(slept) == 3:
            raise KeyboardInterrupt

    monkeypatch.setattr("kgtui.commands.ls.pause", sleep)
    ran = run("ls", "--watch", "0.5", "--format", "json")
    assert ran.code == 130
    assert [len(json.loads(line)["groups"]) for line in ran.out.splitlines()] == [4, 4, 4]
    assert slept == [0.5] * 3


@pytest.mark.parametrize(("words", "expected"), [("5", 5.0), ("5s", 5.0), ("2m", 120.0)])
def test_time_options_accept_seconds_or_a_duration_with_a_unit(words: str, expected: float) -> None:
    assert parse_args(["ls", f"--watch={words}"]).watch == expected
    assert parse_args(["--interval", words, "clusters"]).interval == expected
