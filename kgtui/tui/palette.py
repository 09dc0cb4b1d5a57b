"""The command palette finds actions, groups, themes, groupings, sort keys and saved filters by name.

Groupings (such as `by state`) and sort keys arrange the groups in the group tree. Textual parses all titles and help
texts as markup, so values from brokers and from the user are escaped.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from rich.text import Text
from textual.command import DiscoveryHit, Hit, Provider
from textual.markup import escape

from kgtui.model.query.sort_keys import SORT_KEYS
from kgtui.tui import text
from kgtui.tui.screen_actions import table
from kgtui.tui.screens.main import MainScreen
from kgtui.tui.startup_notices import valid_presets
from kgtui.tui.tree.grouping import GROUPING_TITLES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from textual.command import Hits
    from textual.fuzzy import Matcher

    from kgtui.tui.screen_actions.action import Action

MAX_GROUPS = 50
"""Maximum number of groups that the palette lists for one query."""


class MainScreenProvider(Provider):
    """Base class of the providers, which supply the command palette with commands."""

    @property
    def main(self) -> MainScreen | None:
        """The main screen; None while another screen is shown."""
        return self.screen if isinstance(self.screen, MainScreen) else None


class ActionCommands(MainScreenProvider):
    """Commands that run the actions of the main screen."""

    async def discover(self) -> Hits:
        """Yield the commands that are listed before the user types a query: one for each action."""
        main = self.main
        if main is not None:
            for action in table.in_palette(main.session):
                title = f"{action.name}  ({action.keys_in(main.session.keymap)})"
                yield DiscoveryHit(title, partial(main.run_action_by_id, action.id), help=_help(main, action))

    async def search(self, query: str) -> Hits:
        """Yield a command for each action whose name or help text matches the query."""
        main = self.main
        if main is None:
            return
        matcher = self.matcher(query)
        for action in table.in_palette(main.session):
            score = max(matcher.match(action.name), 0.4 if query.lower() in action.help.lower() else 0.0)
            if score > 0:
                title = matcher.highlight(action.name)
                run = partial(main.run_action_by_id, action.id)
                yield Hit(score, title, run, text=action.name, help=_help(main, action))


class GroupCommands(MainScreenProvider):
    """Commands that go to a group whose id contains the query.

    The search is not fuzzy, because a fuzzy search of 100,000 groups would block the handling of keys.
    """

    async def search(self, query: str) -> Hits:
        """Yield a command for each group whose id contains the query, the shortest ids first.

        A query with fewer than two characters finds no groups.
        """
        main = self.main
        if main is None or len(query) < 2:
            return
        part = query.lower()
        groups = [group for group in main.snapshot.groups if part in group.lower()]
        groups.sort(key=lambda group: (len(group), group))
        for rank, group in enumerate(groups[:MAX_GROUPS]):
            state = text.plain(main.snapshot.state_of(group) or "unknown state")
            yield Hit(
                0.9 - rank / 1000, text.cell(group, 80, cut="middle"), partial(main.go_to, group),
                text=text.plain(group, 80), help=f"group {text.marks().dot} {escape(state)}",
            )  # fmt: skip


class ChoiceCommands(MainScreenProvider):
    """Commands that choose a theme, a saved filter, the sort order of groups, or a grouping (such as `by state`)."""

    async def discover(self) -> Hits:
        """Yield the commands that are listed before the user types a query: one for each saved filter."""
        for name, choose, meaning in self._filters():
            yield DiscoveryHit(escape(name), choose, text=name, help=escape(meaning))

    async def search(self, query: str) -> Hits:
        """Yield a command for each theme, grouping, sort key and saved filter whose name matches the query."""
        matcher = self.matcher(query)
        for name, choose, meaning in self._choices():
            score = matcher.match(name)
            if score > 0:
                yield Hit(0.8 * score, _highlighted(matcher, name), choose, text=name, help=escape(meaning))

    def _choices(self) -> Iterator[tuple[str, Callable[[], None], str]]:
        app, main = self.app, self.main
        for theme in sorted(app.available_themes):
            yield f"Theme {theme}", partial(setattr, app, "theme", theme), "changes the colors of all screens"
        if main is None:
            return
        for grouping, name in GROUPING_TITLES.items():
            yield f"Group tree: {name}", partial(main.group_tree.group_by, grouping), "grouping of the tree"
        for sort, entry in SORT_KEYS.items():
            choose = partial(main.left_side.sort_by, sort, descending=entry.largest_first)
            yield f"Sort tree: {sort}", choose, "order of the groups in the tree"
        yield from self._filters()

    def _filters(self) -> Iterator[tuple[str, Callable[[], None], str]]:
        main = self.main
        if main is None:
            return
        for name, expression in valid_presets(main.session.presets).items():
            yield f"Filter: {text.plain(name)}", partial(main.set_filter, expression), text.plain(expression, 80)


def _highlighted(matcher: Matcher, name: str) -> Text:
    """Return the name of a command. The characters that match the query are highlighted."""
    shown = Text(name)
    _, offsets = matcher.fuzzy_search.match(matcher.query, name)
    style = matcher.match_style.rich_style
    for offset in offsets:
        shown.stylize(style, offset, offset + 1)
    return shown


def _help(main: MainScreen, action: Action) -> str:
    why = main.why_unavailable(action.id)
    return escape(f"not available: {why}" if why else action.help)
