"""Actions on the selected or marked groups: delete, copy, export, explain."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from kgtui.model import facts
from kgtui.model.command_line import describe
from kgtui.model.group_types import kind_of
from kgtui.model.guard import delete_availability, is_listed_as_empty
from kgtui.tui import text
from kgtui.tui.messages import DeleteRequested
from kgtui.tui.screen_actions.action import Action, needs_group

if TYPE_CHECKING:
    from kgtui.tui.screen_actions.action import ActionContext
    from kgtui.tui.screens.cluster import ClusterScreen


def _delete(screen: ClusterScreen) -> None:
    groups = tuple(sorted(screen.marked)) or ((screen.group,) if screen.group is not None else ())
    screen.post_message(DeleteRequested(groups))


def _why_not_deletable(context: ActionContext) -> str | None:
    if context.marked:
        # If groups are marked, the delete dialog always opens. It shows which of the groups cannot be deleted.
        return None
    if context.group is None:
        return needs_group(context)
    if not context.session.read_only and is_listed_as_empty(context.snapshot, context.group, now=context.now):
        # Allow the action even if the group's description is old or missing, because the delete dialog reads a new
        # description.
        return None
    return delete_availability(context.snapshot, context.group, context.session.read_only, now=context.now)


def _copy_id(screen: ClusterScreen) -> None:
    group = screen.group
    if group is not None:
        screen.app.copy_to_clipboard(group)
        screen.toast(text.plain(group, 400), title="Copied")


def _copy_command(screen: ClusterScreen) -> None:
    """Copy the Kafka command that prints the data of the visible pane, and show the command in a dialog."""
    from kgtui.tui.dialogs.copied import CopiedDialog

    snapshot, group = screen.snapshot, screen.group
    if group is None:
        return
    listing = snapshot.groups.get(group)
    kind = kind_of(facts.type_of(snapshot, group), listing.protocol) if listing is not None else "consumer"
    target = screen.session.target
    seeds = snapshot.cluster.seeds or tuple(target.bootstrap.split(","))
    line = describe(group, kind, seeds, view=screen.detail.pane.tool_view, command_config=target.command_config)
    screen.app.copy_to_clipboard(line.text)
    screen.app.push_screen(CopiedDialog(line.text, line.note))


def _export(screen: ClusterScreen) -> None:
    # The dialog is imported only when it is opened. It imports the file writers, which would delay the start of kgtui.
    from kgtui.tui.dialogs.export import ExportDialog

    if screen.group is not None:
        screen.app.push_screen(ExportDialog(screen, screen.group))


def _explain(screen: ClusterScreen) -> None:
    from kgtui.tui.dialogs.explain import ExplainDialog

    if screen.group is not None:
        screen.app.push_screen(ExplainDialog.about_group(screen.monitor.snapshot, screen.group))


_ActAction = partial(Action, section="Act")

ACTIONS: tuple[Action, ...] = (
    _ActAction(id="delete", keys="d", shown_keys="d", name="Delete", run=_delete, writes=True,
               unavailable=_why_not_deletable,
               help="Delete the group, or the marked groups; only empty groups can be deleted."),
    _ActAction(id="copy", keys="y", shown_keys="y", name="Copy id", run=_copy_id,
               unavailable=needs_group, help="Copy the group id."),
    _ActAction(id="copy-command", keys="Y", shown_keys="Y", name="Copy command", run=_copy_command,
               unavailable=needs_group, help="Copy the Kafka command that shows the data of the pane."),
    _ActAction(id="export", keys="x", shown_keys="x", name="Export", run=_export, unavailable=needs_group,
               help="Write a file for an incident report about the group, its brokers, and other groups that read its "
                    "topics."),
    _ActAction(id="explain", keys="e", shown_keys="e", name="Explain", run=_explain,
               unavailable=needs_group, help="Explain the state and the problems of the group, and what to do."),
)  # fmt: skip
