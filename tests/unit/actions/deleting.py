"""Delete groups of a fake cluster in tests. `on_call` can change the cluster during a deletion."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kgtui.actions.execute import execute
from kgtui.actions.plan import plan

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from kgtui.actions.results import Results
    from kgtui.config import StateFolder
    from tests.scripted import ScriptedAdmin


def delete_requests(admin: ScriptedAdmin) -> list[tuple[str, ...]]:
    """Return one tuple per DeleteGroups request that was sent: the ids of the groups in the request."""
    return [groups for call, groups in admin.calls if call == "delete_groups"]


def on_call(admin: ScriptedAdmin, call: str, act: Callable[[], None], *, nth: int = 1) -> None:
    """Call the function `act` at the `nth` call (counted from 1) of the fake cluster's method with the name `call`."""
    record_call = admin._record_call
    seen = 0

    async def watched(name: str, groups: Iterable[str] = ()) -> None:
        nonlocal seen
        await record_call(name, groups)
        if name == call:
            seen += 1
            if seen == nth:
                act()

    admin._record_call = watched  # type: ignore[assignment,method-assign]


async def delete(admin: ScriptedAdmin, folder: StateFolder, *groups: str) -> Results:
    """Plan and execute the deletion of `groups`."""
    return await execute(admin, await plan(admin, groups), folder)
