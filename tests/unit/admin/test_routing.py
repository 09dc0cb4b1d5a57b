"""Tests of `Router`, which sends requests to the coordinators of groups, and repeats requests if this is safe."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgtui.admin import routing
from kgtui.admin.deadline import Deadline
from kgtui.admin.kafka import KafkaGroupAdmin
from kgtui.admin.routing import RECONNECTS, Batch, Router
from kgtui.errors import (
    BrokerError,
    ConnectError,
    DeadlineError,
    DecodeError,
    DisconnectedError,
    KgtuiError,
    UnreachableError,
    UnsupportedError,
)
from tests.event_loop import longer_if_busy
from tests.unit.admin.fake_pool import FakePool

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kgtui.model.answer import Answer
    from tests.unit.admin.fake_pool import Sent

MOVED, LOADING, NOT_AVAILABLE, TIMED_OUT, FORBIDDEN, NEWER = 16, 14, 15, 7, 30, 31_999
OK = 0


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reduce the pauses before repeated requests to 0.1 ms, so that the tests are fast."""
    monkeypatch.setattr(routing, "FIRST_PAUSE", 0.0001)
    monkeypatch.setattr(routing, "LONGEST_PAUSE", 0.0001)


class Script:
    """A `send` function for `Router.run` that returns predefined results.

    `scripts` maps each group to the results of the requests that contain this group, in order. A result is an error
    code, an exception, or None if the response has no row for the group. The last result is repeated.
    """

    def __init__(self, scripts: dict[str, list[int | KgtuiError | None]]) -> None:
        self.scripts = scripts
        self.sent: list[tuple[int, list[str]]] = []

    async def __call__(self, node: int, names: Sequence[str], deadline: Deadline) -> Batch[str]:
        self.sent.append((node, list(names)))
        batch: Batch[str] = Batch()
        raised: KgtuiError | None = None
        for name in names:
            left = self.scripts[name]
            step = left.pop(0) if len(left) > 1 else left[0]
            if isinstance(step, KgtuiError):
                raised = step
            elif step:
                batch.codes[name] = (step, None)
            elif step == OK:
                batch.rows[name] = f"{name} by {node}"
        if raised is not None:
            raise raised
        return batch

    def times(self, name: str) -> int:
        """Return how many requests contained the group `name`."""
        return sum(names.count(name) for _, names in self.sent)


async def run(
    pool: FakePool, script: Script, *, timeout: float = 60, size: int = 100, repeat: bool = True
) -> Answer[dict[str, str]]:
    return await Router(pool).run(
        list(script.scripts), script, deadline=Deadline(timeout), size=size, asked="describe", repeat=repeat
    )


async def test_router_sends_groups_to_coordinators_in_batches() -> None:
    names = [f"g{number:02}" for number in range(25)]
    pool = FakePool(coordinators={name: number % 2 + 1 for number, name in enumerate(names)})
    script = Script({name: [OK] for name in names})
    answer = await run(pool, script, size=5)
    assert list(answer.rows) == names
    assert answer.rows["g03"] == "g03 by 2"
    assert [len(groups) for _, groups in script.sent] == [5, 5, 3, 5, 5, 2]
    assert answer.coverage.groups == (25, 25)


async def test_router_requests_a_duplicate_group_id_only_once() -> None:
    script = Script({"a": [OK]})
    answer = await Router(FakePool()).run(["a", "a"], script, deadline=Deadline(5), size=9, asked="describe")
    assert (script.sent, answer.coverage.groups) == ([(1, ["a"])], (1, 1))


@pytest.mark.parametrize("code", [MOVED, NOT_AVAILABLE])
async def test_router_repeats_coordinator_lookup_and_request_only_for_moved_groups(code: int) -> None:
    pool = FakePool(coordinators={"moved": 1, "stays": 1})
    script = Script({"moved": [code, OK], "stays": [OK]})

    async def send(node: int, names: Sequence[str], deadline: Deadline) -> Batch[str]:
        pool.coordinators["moved"] = 3
        return await script(node, names, deadline)

    answer = await Router(pool).run(["moved", "stays"], send, deadline=Deadline(5), size=9, asked="describe")
    assert answer.rows == {"moved": "moved by 3", "stays": "stays by 1"}
    assert script.sent == [(1, ["moved", "stays"]), (3, ["moved"])]
    assert pool.looked_up == [["moved", "stays"], ["moved"]]


async def test_router_repeats_requests_to_a_loading_coordinator() -> None:
    pool = FakePool()
    script = Script({"a": [LOADING, LOADING, OK]})
    answer = await run(pool, script)
    assert (list(answer.rows), script.times("a")) == (["a"], 3)
    assert pool.looked_up == [["a"], [], []]


@longer_if_busy(0.5)
async def test_router_returns_a_fault_if_a_coordinator_is_loading_until_the_deadline(timeout: float) -> None:
    script = Script({"a": [LOADING], "b": [OK]})
    answer = await run(FakePool(), script, timeout=timeout)
    (fault,) = answer.faults
    assert (fault.name, fault.code, fault.group, fault.broker) == ("COORDINATOR_LOAD_IN_PROGRESS", LOADING, "a", 1)
    assert fault.message.startswith("describe: ")
    assert script.times("a") > 2
    assert (list(answer.rows), script.times("b")) == (["b"], 1)


async def test_router_does_not_repeat_requests_after_non_retriable_or_unknown_errors() -> None:
    script = Script({"forbidden": [FORBIDDEN], "newer": [NEWER], "fine": [OK]})
    answer = await run(FakePool(), script)
    assert [(fault.group, fault.name) for fault in answer.faults] == [
        ("forbidden", "GROUP_AUTHORIZATION_FAILED"),
        ("newer", f"UNKNOWN_{NEWER}"),
    ]
    assert len(script.sent) == 1
    assert answer.coverage.groups == (1, 3)


@pytest.mark.parametrize("error", [DisconnectedError("broke", broker=2), ConnectError("refused", broker=2)])
async def test_router_repeats_requests_a_few_times_after_lost_connections(error: KgtuiError) -> None:
    pool = FakePool(coordinators={"a": 2})
    script = Script({"a": [error]})
    answer = await run(pool, script)
    assert script.times("a") == RECONNECTS + 1
    assert pool.looked_up == [["a"]] * (RECONNECTS + 1)
    assert [(fault.group, fault.broker, fault.name) for fault in answer.faults] == [("a", 2, error.fault_name)]
    answer = await run(pool, Script({"a": [error, OK]}))
    assert list(answer.rows) == ["a"]


@pytest.mark.parametrize(
    "error",
    [
        DeadlineError("late"),
        UnsupportedError("too old"),
        DecodeError("damaged"),
        UnreachableError("gone"),
        BrokerError("no", code=29, name="TOPIC_AUTHORIZATION_FAILED"),
    ],
)
async def test_router_returns_a_fault_for_each_group_of_a_failed_batch(error: KgtuiError) -> None:
    pool = FakePool(coordinators={"a": 1, "b": 1, "c": 2})
    script = Script({"a": [error], "b": [OK], "c": [OK]})
    answer = await run(pool, script)
    assert list(answer.rows) == ["c"]
    assert [(fault.group, fault.name, fault.broker) for fault in answer.faults] == [
        ("a", error.fault_name, 1),
        ("b", error.fault_name, 1),
    ]
    assert len(script.sent) == 2


async def test_router_keeps_results_that_arrived_before_a_batch_failed() -> None:
    async def send(node: int, names: Sequence[str], deadline: Deadline) -> Batch[str]:
        return Batch(rows={names[0]: "known"}, codes={names[1]: (FORBIDDEN, "no")}, error=DeadlineError("late"))

    answer = await Router(FakePool()).run("abc", send, deadline=Deadline(5), size=9, asked="describe")
    assert answer.rows == {"a": "known"}
    assert [(fault.group, fault.name) for fault in answer.faults] == [
        ("b", "GROUP_AUTHORIZATION_FAILED"),
        ("c", "NO_ANSWER"),
    ]


async def test_router_returns_a_fault_for_a_group_without_a_response() -> None:
    answer = await run(FakePool(), Script({"a": [OK], "b": [None]}))
    (fault,) = answer.faults
    assert (fault.group, fault.name, fault.broker) == ("b", "NO_ANSWER", 1)
    assert "does not contain" in fault.message


async def test_router_returns_a_fault_for_a_group_without_coordinator() -> None:
    error = BrokerError("no coordinator", code=NOT_AVAILABLE, name="COORDINATOR_NOT_AVAILABLE")
    script = Script({"a": [OK], "b": [OK]})
    answer = await run(FakePool(coordinators={"b": error}), script)
    assert (list(answer.rows), [fault.group for fault in answer.faults]) == (["a"], ["b"])
    assert script.times("b") == 0


async def test_router_raises_an_error_only_if_all_requests_failed() -> None:
    gone = UnreachableError("nothing answers", (("127.0.0.1:9092", "refused"),))
    with pytest.raises(UnreachableError):
        await run(FakePool(unreachable=[gone]), Script({"a": [OK]}))
    pool = FakePool()
    script = Script({"moved": [MOVED], "known": [OK]})

    async def send(node: int, names: Sequence[str], deadline: Deadline) -> Batch[str]:
        pool.unreachable = [gone]
        return await script(node, names, deadline)

    answer = await Router(pool).run(["moved", "known"], send, deadline=Deadline(5), size=9, asked="describe")
    assert list(answer.rows) == ["known"]
    assert [(fault.group, fault.name) for fault in answer.faults] == [("moved", "UNREACHABLE")]


@pytest.mark.parametrize(
    ("error", "times"),
    [(DisconnectedError("lost"), 1), (DeadlineError("late"), 1), (ConnectError("refused"), RECONNECTS + 1)],
)
async def test_router_repeats_a_failed_write_request_only_if_no_broker_received_it(
    error: KgtuiError, times: int
) -> None:
    script = Script({"a": [error]})
    answer = await run(FakePool(), script, repeat=False)
    assert script.times("a") == times
    assert [fault.name for fault in answer.faults] == [error.fault_name]


async def test_router_repeats_a_write_request_while_the_group_moves_or_loads() -> None:
    script = Script({"a": [MOVED, LOADING, OK]})
    answer = await run(FakePool(), script, repeat=False)
    assert (list(answer.rows), script.times("a")) == (["a"], 3)


@pytest.mark.parametrize("code", [NOT_AVAILABLE, TIMED_OUT])
async def test_router_does_not_repeat_a_write_request_that_was_possibly_executed(code: int) -> None:
    script = Script({"a": [code, OK]})
    answer = await run(FakePool(), script, repeat=False)
    assert ([fault.code for fault in answer.faults], script.times("a")) == ([code], 1)


@pytest.mark.parametrize(("code", "uncertain"), [(NOT_AVAILABLE, True), (TIMED_OUT, True), (FORBIDDEN, False)])
async def test_delete_outcome_is_uncertain_if_the_request_was_possibly_executed(code: int, uncertain: bool) -> None:
    def answer(sent: Sent) -> Any:
        return {"Results": [{"GroupId": name, "ErrorCode": code} for name in sent.fields["GroupsNames"]]}

    (outcome,) = await KafkaGroupAdmin(FakePool(answers={"DeleteGroups": answer})).delete_groups(["g"])
    assert (outcome.ok, outcome.uncertain) == (False, uncertain)


async def test_delete_outcome_is_certain_if_the_group_coordinator_was_not_found() -> None:
    """The lookup fails with COORDINATOR_NOT_AVAILABLE (15), so kgtui sends no delete request.

    In the response to a delete request, the same error would make the outcome uncertain.
    """
    pool = FakePool(
        coordinators={"g": BrokerError("no coordinator", code=NOT_AVAILABLE, name="COORDINATOR_NOT_AVAILABLE")}
    )
    (outcome,) = await KafkaGroupAdmin(pool).delete_groups(["g"])
    assert (outcome.ok, outcome.uncertain) == (False, False)


async def test_outcome_of_a_delete_request_is_uncertain_if_the_response_is_lost() -> None:
    def answer(sent: Sent) -> Any:
        pool.coordinators["moved"] = 3
        code = MOVED if sent.node == 1 else OK
        if sent.node == 2:
            return DisconnectedError("lost", broker=2)
        names = [name for name in sent.fields["GroupsNames"] if name != "left out"]
        return {"Results": [{"GroupId": name, "ErrorCode": code} for name in reversed(names)]}

    pool = FakePool(coordinators={"moved": 1, "lost": 2, "fine": 3, "left out": 3}, answers={"DeleteGroups": answer})
    outcomes = await KafkaGroupAdmin(pool).delete_groups(["lost", "moved", "fine", "left out"])
    assert [(row.group, row.ok, row.uncertain) for row in outcomes] == [
        ("lost", False, True),
        ("moved", True, False),
        ("fine", True, False),
        ("left out", False, True),
    ]
    assert pool.per_node("DeleteGroups") == {1: 1, 2: 1, 3: 2}


steps = st.sampled_from([OK, MOVED, LOADING, FORBIDDEN, NEWER, None]) | st.sampled_from(
    [DisconnectedError("lost"), ConnectError("refused"), DeadlineError("late"), UnreachableError("gone")]
)


@given(
    scripts=st.dictionaries(st.text(max_size=3), st.lists(steps, min_size=1, max_size=4), max_size=8),
    nodes=st.lists(st.integers(1, 3), min_size=8, max_size=8),
    size=st.integers(1, 4),
    repeat=st.booleans(),
)
def test_router_returns_one_row_or_one_fault_per_group(
    scripts: dict[str, list[int | KgtuiError | None]], nodes: list[int], size: int, repeat: bool
) -> None:
    """The brokers' responses are random. The returned rows must be in the order of the requested groups."""
    # Each group gets OK as the last result, because a group with only retriable errors would be requested again until
    # the deadline.
    script = Script({name: [*some, OK] for name, some in scripts.items()})
    pool = FakePool(coordinators=dict(zip(scripts, nodes, strict=False)))
    answer = asyncio.run(run(pool, script, size=size, repeat=repeat))
    faults = [fault.group for fault in answer.faults]
    assert sorted([*answer.rows, *map(str, faults)]) == sorted(scripts)
    assert list(answer.rows) == [name for name in scripts if name in answer.rows]
    assert answer.coverage.groups == (len(answer.rows), len(scripts))
    assert all(len(names) <= size for _, names in script.sent)
