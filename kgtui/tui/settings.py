"""What the user wrote into the configuration, as far as the screen can use it: presets, colours, properties."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kgtui.errors import QueryError
from kgtui.model.query import parse
from kgtui.tui import text
from kgtui.tui.widgets.header import colour_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from textual.app import App

    from kgtui.tui.session import Session

_SHOWN_SECONDS = 15.0
_MOST_SAID = 6
_LONGEST = 160


def good_presets(presets: Mapping[str, str]) -> dict[str, str]:
    """The presets that are filters, sorted by name."""
    mistaken = dict(mistaken_presets(presets))
    return {name: presets[name] for name in sorted(presets) if name not in mistaken}


def mistaken_presets(presets: Mapping[str, str]) -> list[tuple[str, str]]:
    """`(name, mistake)` of each preset that is no filter."""
    found = []
    for name, expression in sorted(presets.items()):
        try:
            parse(expression)
        except QueryError as error:
            found.append((name, str(error)))
    return found


def tell_mistaken_presets(app: App[Any], presets: Mapping[str, str]) -> None:
    """Name the presets that are no filters, in one toast."""
    said = [f"{name}: {mistake}" for name, mistake in mistaken_presets(presets)]
    _tell(app, said, "Presets that are no filters" if len(said) > 1 else "A preset is no filter")


def tell_warnings(app: App[Any], session: Session) -> None:
    """Say what is odd about how a cluster is configured, in one toast."""
    colour = session.target.color
    odd = [f"colour {colour!r} is not known: write red, or #b01030"] if colour and colour_of(colour) is None else []
    _tell(app, [*session.warnings, *odd], f"Configuration of {text.plain(session.target.name, 40, cut='middle')}")


def _tell(app: App[Any], said: Iterable[str], title: str) -> None:
    lines = [text.plain(" ".join(one.split()), _LONGEST) for one in said]
    if len(lines) > _MOST_SAID:
        lines[_MOST_SAID - 1 :] = [f"and {len(lines) - _MOST_SAID + 1} more"]
    if lines:
        app.notify("\n".join(lines), title=title, severity="warning", timeout=_SHOWN_SECONDS, markup=False)
