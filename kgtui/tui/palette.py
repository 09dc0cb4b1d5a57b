"""The command palette: every action by name, and every group by its id."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from textual.command import DiscoveryHit, Hit, Provider

from kgtui.tui import keys, text
from kgtui.tui.settings import good_presets
from kgtui.tui.tree.grouping import GROUPING_TITLES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from textual.command import Hits

    from kgtui.tui.screens.main import MainScreen

MOST_GROUPS = 50


class ActionCommands(Provider):
    """The actions of the table of keys, those that read-only leaves."""

    @property
    def _main(self) -> MainScreen | None:
        from kgtui.tui.screens.main import MainScreen

        return self.screen if isinstance(self.screen, MainScreen) else None

    async def discover(self) -> Hits:
        """All of them, in the order of the table."""
        main = self._main
        for action in self._actions():
            if main is not None:
                yield DiscoveryHit(_title(main, action), partial(main.action_do, action.id), help=_help(main, action))

    async def search(self, query: str) -> Hits:
        """Those whose name or meaning matches."""
        main = self._main
        if main is None:
            return
        matcher = self.matcher(query)
        for action in self._actions():
            score = max(matcher.match(action.name), 0.4 if query.lower() in action.does.lower() else 0.0)
            if score > 0:
                title = matcher.highlight(action.name)
                yield Hit(score, title, partial(main.action_do, action.id), text=action.name, help=_help(main, action))

    def _actions(self) -> list[keys.Action]:
        main = self._main
        read_only = main.session.read_only if main is not None else True
        gone = {"cluster"} if main is None or main.session.open_cluster is None else set()
        gone |= {"live"} if main is None or main.session.live_session is None else set()
        return [action for action in keys.offered(read_only) if action.palette and action.id not in gone]


class GroupCommands(Provider):
    """The groups listed, by substring of the id: a fuzzy search of 100,000 would keep keys waiting."""

    async def search(self, query: str) -> Hits:
        """Up to fifty groups whose id contains the words, the shortest first."""
        from kgtui.tui.screens.main import MainScreen

        main = self.screen
        if not isinstance(main, MainScreen) or len(query) < 2:
            return
        wanted = query.lower()
        found = [group for group in main.snapshot.groups if wanted in group.lower()]
        found.sort(key=lambda group: (len(group), group))
        for rank, group in enumerate(found[:MOST_GROUPS]):
            state = text.plain(main.snapshot.state_of(group) or "unknown state")
            yield Hit(
                0.9 - rank / 1000, text.cell(group, 80, cut="middle"), partial(main.go_to, group),
                text=text.plain(group, 80), help=f"group {text.marks().dot} {state}",
            )  # fmt: skip


class ChoiceCommands(Provider):
    """Themes, saved filters and ways to group, each by its name."""

    async def discover(self) -> Hits:
        """The saved filters: few, and known to nobody who does not see them."""
        for name, choose, meaning in self._filters():
            yield DiscoveryHit(name, choose, help=meaning)

    async def search(self, query: str) -> Hits:
        """Those whose name matches."""
        matcher = self.matcher(query)
        for name, choose, meaning in self._choices():
            score = matcher.match(name)
            if score > 0:
                yield Hit(0.8 * score, matcher.highlight(name), choose, text=name, help=meaning)

    def _choices(self) -> Iterator[tuple[str, Callable[[], None], str]]:
        from kgtui.tui.screens.main import MainScreen

        app, main = self.app, self.screen
        for theme in sorted(app.available_themes):
            yield f"Theme {theme}", partial(setattr, app, "theme", theme), "colors of the whole screen"
        if not isinstance(main, MainScreen):
            return
        for grouping, name in GROUPING_TITLES.items():
            yield f"Group tree: {name}", partial(main.groups.group_by, grouping), "the tree"
        yield from self._filters()

    def _filters(self) -> Iterator[tuple[str, Callable[[], None], str]]:
        from kgtui.tui.screens.main import MainScreen

        main = self.screen
        if not isinstance(main, MainScreen):
            return
        for name, expression in good_presets(main.session.presets).items():
            yield f"Filter: {text.plain(name)}", partial(main.set_filter, expression), text.plain(expression, 80)


def _title(main: MainScreen, action: keys.Action) -> str:
    return f"{action.name}  ({keys.shown_keys(action, main.session.keymap)})"


def _help(main: MainScreen, action: keys.Action) -> str:
    why = main.reason(action.id)
    return f"not now: {why}" if why else action.does
