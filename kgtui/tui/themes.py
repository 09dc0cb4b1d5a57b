"""Read theme files, which define a color for each color role, such as `kg-warn`. Report and skip invalid files."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from textual.color import Color, ColorParseError
from textual.theme import Theme

from kgtui.errors import PARSE_ERRORS, ConfigError, parse_reason
from kgtui.model.marks import ROLES
from kgtui.private_files import read_input

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

DEFAULT = "kgtui-dark"

_COLOR_KEYS = (
    "primary", "secondary", "warning", "error", "success", "accent", "foreground", "background", "surface", "panel",
    "boost",
)  # fmt: skip
_NAME = re.compile(r"[a-z0-9][a-z0-9-]*")


@dataclass(frozen=True, slots=True)
class FailedTheme:
    """The path of an invalid theme file, and the reason why it is invalid."""

    path: Path
    reason: str


def shipped_folder() -> Path:
    """Return the folder of the themes that are shipped with kgtui.

    The folder is in the installed package or, if kgtui runs from a Git checkout, in the top folder of the checkout.
    """
    here = Path(__file__).resolve().parents[1]
    installed = here / "themes"
    return installed if installed.is_dir() else here.parent / "themes"


def load(folders: Iterable[Path | None]) -> tuple[list[Theme], list[FailedTheme]]:
    """Read all theme files in these folders, and return (valid themes, invalid files). Ignore None in `folders`.

    The files of each folder are read in the order of their names. If several themes have the same name, only the one
    that was read last is returned.
    """
    loaded: dict[str, Theme] = {}
    failed: list[FailedTheme] = []
    for path in _files(folders):
        try:
            theme = read(path)
        except ConfigError as error:
            failed.append(FailedTheme(path, str(error)))
        else:
            loaded[theme.name] = theme
    return list(loaded.values()), failed


def _files(folders: Iterable[Path | None]) -> Iterator[Path]:
    for folder in folders:
        if folder is not None and folder.is_dir():
            yield from sorted(folder.glob("*.toml"))


def read(path: Path) -> Theme:
    """Read one theme file. Raises `ConfigError` with the reason if the file is invalid."""
    try:
        table = tomllib.loads(read_input(path).decode("utf-8"))
    except OSError as error:
        raise ConfigError(str(error)) from error
    except PARSE_ERRORS as error:
        raise ConfigError(parse_reason(error)) from error
    return theme_of(table, path.stem)


def theme_of(table: dict[str, Any], stem: str) -> Theme:
    """Convert the parsed content of a theme file (`table`) into a theme. Raises `ConfigError` if it is invalid.

    `stem` is the file name without extension. It becomes the theme's name if the file does not set `name`.
    """
    known = {"name", "dark", "ansi", "roles", "variables", *_COLOR_KEYS}
    unknown = sorted(set(table) - known)
    if unknown:
        raise ConfigError(f"unknown key {unknown[0]!r}: expected one of {', '.join(sorted(known))}")
    name = table.get("name", stem)
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise ConfigError("name: expected lower-case letters, digits and hyphens")
    colors = {key: _color(key, table[key]) for key in _COLOR_KEYS if key in table}
    if "primary" not in colors:
        raise ConfigError("primary: expected a color, such as '#5aa9e6'")
    roles = _section(table, "roles")
    missing = [role for role in ROLES if role not in roles]
    if missing:
        raise ConfigError(f"roles.{missing[0]}: expected a color")
    unknown_roles = sorted(set(roles) - set(ROLES))
    if unknown_roles:
        raise ConfigError(f"unknown role {unknown_roles[0]!r}: expected one of {', '.join(ROLES)}")
    variables = {key: _color(f"roles.{key}", value) for key, value in roles.items()}
    variables |= {key: _text(f"variables.{key}", value) for key, value in _section(table, "variables").items()}
    _add_scrollbar_colors(variables, colors)
    primary = colors.pop("primary")
    theme = Theme(name, primary, dark=_flag(table, "dark", True), ansi=_flag(table, "ansi", False), variables=variables)
    return replace(theme, **colors)  # type: ignore[arg-type]  # mypy checks each color against the types of all fields


def _add_scrollbar_colors(variables: dict[str, str], colors: dict[str, str]) -> None:
    track = colors.get("background")
    if track is not None:
        for state in ("", "-hover", "-active"):
            variables.setdefault(f"scrollbar-background{state}", track)
        variables.setdefault("scrollbar-corner-color", track)
    variables.setdefault("scrollbar", colors.get("panel", variables["kg-muted"]))
    variables.setdefault("scrollbar-hover", variables["kg-muted"])
    variables.setdefault("scrollbar-active", variables["kg-accent"])


def _section(table: dict[str, Any], key: str) -> dict[str, Any]:
    section = table.get(key, {})
    if not isinstance(section, dict):
        raise ConfigError(f"{key}: expected a table")
    return section


def _flag(table: dict[str, Any], key: str, default: bool) -> bool:
    value = table.get(key, default)
    if not isinstance(value, bool):
        raise ConfigError(f"{key}: expected true or false")
    return value


def _text(key: str, value: object) -> str:
    if not isinstance(value, str):
        raise ConfigError(f"{key}: expected text")
    return value


def _color(key: str, value: object) -> str:
    shown = _text(key, value)
    try:
        Color.parse(shown)
    except ColorParseError as error:
        raise ConfigError(f"{key}: {shown!r} is not a color, expected one such as '#5aa9e6' or 'ansi_red'") from error
    return shown


def parse_color(name: str | None) -> Color | None:
    """Parse a color in Textual's notation, such as `red` or `#b01030`. Return None if `name` is empty or no color."""
    try:
        return Color.parse(name) if name else None
    except ColorParseError:
        return None


_DARK = ("#7cc77f", "#e8b04a", "#f2727f", "#98a2b0", "#7fd1c7", "#b59ad9")
_LIGHT = ("#1e6b24", "#7a4f00", "#a3182b", "#55606e", "#0b5f66", "#6b3fa0")


def variable_defaults(theme: Theme) -> dict[str, str]:
    """Return default colors for the theme variables that kgtui has added: name → color.

    Textual's own themes do not define these variables.
    """
    defaults = dict(zip(ROLES, _DARK if theme.dark else _LIGHT, strict=True))
    defaults["kg-on-primary"] = Color.parse(theme.primary).get_contrast_text(1.0).hex
    return defaults
