"""Test that a person on call gets the answers to ten questions with at most three keys each, on a real broker.

The question why a group cannot be seen has two variants. With `pytest -rP`, each test prints the number of keys, and
the time from the last key to the answer. The characters of typed names and filters do not count as keys.

A terminal of 120×40 shows the tree and a page about the cluster. Narrower terminals show only one of them at a time.
"""

from __future__ import annotations

import re
import sys
import time
from contextlib import ExitStack
from typing import TYPE_CHECKING, NamedTuple

import pytest

from tests.brokers import kio_client
from tests.brokers.secure import FORBIDDEN
from tests.brokers.troubled_groups import BLOCKED, DELETED, DRAINING, EXPIRING, FLAPPING, STOPPED, TroubledGroups
from tests.e2e.terminal import Terminal

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.brokers.secure import Secure

MOST_KEYS = 3
ANSWER_TIMEOUT = 60.0
"""Maximum time that a test waits for the answer after the last key, in seconds.

On an idle machine, every answer appears within 2 s.
"""

OBSERVED_TIMEOUT = 300.0
"""Maximum time that a test waits until kgtui has detected that a group has a problem, in seconds.

On an idle machine, kgtui detects every problem within 60 s.
"""

CLOCK = r"\d\d:\d\d"

WIDE, NARROW, NARROWEST = (120, 40), (80, 24), (60, 20)
"""Sizes of the terminals, in columns and rows."""


class Question(NamedTuple):
    """A question of a person on call, and the keys that bring the answer onto the screen.

    Attributes:
        text: the question.
        keys: keys to press. For `text:abc`, the text `abc` is typed. Typed texts are not counted as keys.
        answer: regular expressions. The answer is on the screen if all of them match the screen. The test replaces
            the word `EMPTY_GROUPS` in them with the number of Empty groups.
        needs: regular expression for the screen before the first key. The test waits for a match, because kgtui must
            first find the problem. If the expression is empty, the test does not wait.
        about_deleted: whether the test first deletes the group `DELETED`.
        narrow_keys: keys for a narrow screen; None if they are the same as `keys`.
        narrow_answer: regular expressions for a narrow screen; None if they are the same as `answer`.
    """

    text: str
    keys: tuple[str, ...]
    answer: tuple[str, ...]
    needs: str = ""
    about_deleted: bool = False
    narrow_keys: tuple[str, ...] | None = None
    narrow_answer: tuple[str, ...] | None = None

    def on(self, size: tuple[int, int]) -> Question:
        """Return the question with the keys and the answer for a terminal of the size `size`."""
        if size == WIDE:
            return self
        keys = self.keys if self.narrow_keys is None else self.narrow_keys
        return self._replace(keys=keys, answer=self.answer if self.narrow_answer is None else self.narrow_answer)

    @property
    def counted(self) -> int:
        """Number of keys to press. Typed texts are not counted."""
        return sum(1 for key in self.keys if not key.startswith("text:"))


def about(group: str, *keys: str) -> tuple[str, ...]:
    """Return the keys that select the group with the id `group`, followed by `keys`."""
    return ("/", f"text:{group}", "Enter", *keys)


QUESTIONS = (
    Question(
        "Which member has partition 7 of topic payments?",
        about(STOPPED, "3"),
        (rf"payments +7 +{re.escape(STOPPED)}-2 ",),
    ),
    Question(
        "Who blocks the rebalance?",
        about(BLOCKED, "3"),
        (rf"2 of 4 must move · waits for {re.escape(BLOCKED)}-1", "to revoke"),
    ),
    Question(
        "When will the group have caught up?",
        about(DRAINING, "1"),
        (r"lag −[\d.,]+/s", rf"caught up in about .*{CLOCK}"),
    ),
    Question(
        "Is it safe to delete the group, and what would be lost?",
        about(DELETED, "d"),
        (r"Safe +no: ", r"7 (records|unread)", "type the group id"),
    ),
    Question(
        "Why can I not see the group? (an ACL)",
        about(FORBIDDEN, "1"),
        ("UNREADABLE", "your user lacks the permission", "DESCRIBE"),
    ),
    Question(
        "What changed in the last ten minutes?",
        ("E",),
        (
            rf"{re.escape(DELETED)} +group deleted or expired",
            rf"(state|joined|left|moved|verdict) +{re.escape(FLAPPING)} ",
        ),
        about_deleted=True,
        narrow_answer=(
            rf"disappeared +{re.escape(DELETED)} +group deleted",
            rf"(state|joined|left|moved|verdict) +{re.escape(FLAPPING)} ",
        ),
    ),
    Question(
        "Why can I not see the group? (it was deleted)",
        about(DELETED),
        (rf"{re.escape(DELETED)}(:| was) deleted or expired",),
        about_deleted=True,
    ),
    Question(
        "Which groups does nobody use?",
        ("/", "text:state:Empty", "Enter"),
        ("EMPTY_GROUPS shown", r"\d+ unused"),
        needs="unused",
        narrow_answer=("EMPTY_GROUPS shown", r"old-team-001 +unused"),
    ),
    Question(
        "Which groups are stuck?",
        (),
        (
            rf"✘ stopped +{re.escape(STOPPED)} ",
            rf"[↻▴] rebalancing +{re.escape(BLOCKED)} ",
            rf"flapping +{re.escape(FLAPPING)} ",
        ),
        narrow_keys=("1",),
        needs="(?s)"
        + ".*".join(
            (
                rf"stopped +{re.escape(STOPPED)} ",
                rf"flapping +{re.escape(FLAPPING)} ",
                rf"rebalancing +{re.escape(BLOCKED)} ",
            )
        ),
    ),
    Question(
        "Since when is the group stopped?",
        about(STOPPED, "1"),
        (rf"STOPPED +between {CLOCK} and {CLOCK}", "no (progress|commit) on "),
        needs=rf"stopped +{re.escape(STOPPED)} ",
    ),
    Question(
        "Will data expire before it is read?",
        ("!", "1"),
        (rf"{re.escape(EXPIRING)} ", "DATA LOSS NEAR", rf"may expire\s+from\s+{CLOCK}:\d\d"),
        needs=rf"data loss near +{re.escape(EXPIRING)} ",
    ),
)


@pytest.fixture(scope="module", params=[200, pytest.param(2_000, marks=pytest.mark.full)])
def scene(request: pytest.FixtureRequest, secure_broker: Secure) -> Iterator[TroubledGroups]:
    """Run groups with typical problems on a broker that checks ACLs.

    The fixture's parameter is the number of additional groups, which have no members.
    """
    scene = TroubledGroups(secure_broker, request.param)
    scene.start()
    yield scene
    scene.stop()


def connected(scene: TroubledGroups) -> tuple[str, ...]:
    """Return the command-line arguments with which kgtui logs in to the cluster as the user `oncall`."""
    return ("--bootstrap-server", scene.bootstrap, "--command-config", str(scene.login))


@pytest.fixture(scope="module")
def screens(
    scene: TroubledGroups, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[tuple[int, int], Terminal]]:
    """Yield a dict: terminal size → terminal in which kgtui's UI is running.

    The UIs start before the first test, because kgtui must watch the groups for some time to find their problems.
    """
    with ExitStack() as stack:
        terminals = {
            size: stack.enter_context(Terminal(tmp_path_factory.mktemp("home"), size=size))
            for size in (WIDE, NARROW, NARROWEST)
        }
        for terminal in terminals.values():
            terminal.start(*connected(scene))
        for terminal in terminals.values():
            terminal.wait_for("rebalancing")
        yield terminals


@pytest.mark.parametrize(
    ("size", "options", "variables"),
    [
        ((120, 40), (), {}),
        ((80, 24), (), {"NO_COLOR": "1"}),
        ((60, 20), ("--ascii",), {}),
    ],
    ids=["120x40", "80x24 without color", "60x20 in ASCII"],
)
def test_the_header_of_the_first_screen_shows_the_problems_of_the_groups(
    scene: TroubledGroups, tmp_path: Path, size: tuple[int, int], options: tuple[str, ...],
    variables: dict[str, str],
) -> None:  # fmt: skip
    """On a wide screen, the table beside the tree also lists the groups that have problems."""
    with Terminal(tmp_path, size=size, environment=variables) as terminal:
        terminal.start(*options, *connected(scene))
        shown = terminal.wait_for(lambda text: re.search(r"unreadable|\d (more|problem)", text.split("\n")[0]))
        header = shown.split("\n")[0]
        assert re.search(r"\d rebalancing", header)
        if size[0] >= 80:
            assert "1 unreadable" in header
        if size[0] >= 120:
            assert re.search(rf"! unreadable +{re.escape(FORBIDDEN)} ", terminal.wait_for(FORBIDDEN))
        terminal.keys("q")
        assert terminal.status() == 0


@pytest.mark.parametrize("size", [WIDE, NARROW, NARROWEST], ids=lambda size: f"{size[0]}x{size[1]}")
@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question.text)
def test_three_keys_are_enough_to_answer_each_on_call_question(
    scene: TroubledGroups, screens: dict[tuple[int, int], Terminal], question: Question, size: tuple[int, int]
) -> None:
    """Each test begins on the main screen, with the cursor in the first row."""
    screen, asked = screens[size], question.on(size)
    assert asked.counted <= MOST_KEYS
    for terminal in {screens[WIDE], screen}:
        return_to_first_row(terminal)
    existing = kio_client.list_groups(scene.cluster.bootstrap)
    if asked.about_deleted and DELETED in existing:
        scene.delete_group()
        screens[WIDE].wait_for(re.compile(rf"{re.escape(DELETED)} +group deleted").search)
    if asked.needs:
        screens[WIDE].wait_for(re.compile(asked.needs).search, OBSERVED_TIMEOUT)
        if size != WIDE:
            screen.keys("1")
            screen.wait_for(re.compile(asked.needs).search, OBSERVED_TIMEOUT)
            return_to_first_row(screen)
    for key in asked.keys:
        if key.startswith("text:"):
            screen.type(key.removeprefix("text:"))
        else:
            screen.keys(key)
    started = time.monotonic()
    empty = sum(1 for group in existing.values() if group.state == "Empty")
    answer = [re.compile(part.replace("EMPTY_GROUPS", f"{empty:,}")) for part in asked.answer]
    screen.wait_for(lambda text: all(part.search(text) for part in answer), ANSWER_TIMEOUT)
    sys.stdout.write(f"{asked.counted} keys, {time.monotonic() - started:.1f} s: {asked.text}\n")


def return_to_first_row(screen: Terminal) -> None:
    """Close dialogs and panes, clear the filter, and put the cursor on the first row, the row of the cluster."""
    for _ in range(3):
        screen.keys("Escape")
    screen.keys("Home")
    page = "Needs attention" if screen.size == WIDE else "by type, state"
    screen.wait_for(lambda text: "filter: a word" in text and page in text)
