"""Tests of the contrast of themes, and of loading theme files if some of the files are invalid."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from textual.color import Color

from kgtui.model.marks import ROLES
from kgtui.tui.themes import DEFAULT, load, shipped_folder, variable_defaults

if TYPE_CHECKING:
    from pathlib import Path

    from textual.theme import Theme

SHIPPED, FAILED = load([shipped_folder()])

XTERM = {
    "black": "#000000", "red": "#cd0000", "green": "#00cd00", "yellow": "#cdcd00", "blue": "#0000ee",
    "magenta": "#cd00cd", "cyan": "#00cdcd", "white": "#e5e5e5", "bright_black": "#7f7f7f", "bright_red": "#ff0000",
    "bright_green": "#00ff00", "bright_yellow": "#ffff00", "bright_blue": "#5c5cff", "bright_magenta": "#ff00ff",
    "bright_cyan": "#00ffff", "bright_white": "#ffffff",
}  # fmt: skip
"""Name of an ANSI color → its value in the terminal xterm. There are sixteen ANSI colors."""


def _rgb(name: str | None, default: str) -> Color:
    if name is None:
        return Color.parse(default)
    if name.startswith("ansi_"):
        return Color.parse(XTERM.get(name.removeprefix("ansi_"), default))
    return Color.parse(name)


def _luminance(color: Color) -> float:
    def linear(part: int) -> float:
        fraction = part / 255
        return fraction / 12.92 if fraction <= 0.04045 else ((fraction + 0.055) / 1.055) ** 2.4

    return 0.2126 * linear(color.r) + 0.7152 * linear(color.g) + 0.0722 * linear(color.b)


def contrast(one: Color, other: Color) -> float:
    """Return the contrast ratio of two colors as defined in WCAG 2.2, from 1 to 21."""
    light, dark = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def test_shipped_themes_include_dark_light_and_ansi_themes() -> None:
    assert FAILED == []
    assert len(SHIPPED) >= 5
    assert DEFAULT in {theme.name for theme in SHIPPED}
    assert {theme.dark for theme in SHIPPED} == {True, False}
    assert any(theme.ansi for theme in SHIPPED)


@pytest.mark.parametrize("theme", SHIPPED, ids=lambda theme: theme.name)
def test_text_and_cursor_colors_of_themes_have_enough_contrast(theme: Theme) -> None:
    """WCAG 2.2 requires a contrast of at least 4.5 for text.

    This applies to role colors, too, which are text colors with a meaning, such as `kg-ok`.
    """
    backgrounds = [_rgb(getattr(theme, key), "#000000") for key in ("background", "surface", "panel")]
    values = variable_defaults(theme) | theme.variables
    inks = {"foreground": _rgb(theme.foreground, "#e5e5e5")} | {role: _rgb(values[role], "#e5e5e5") for role in ROLES}
    for name, ink in inks.items():
        for background in backgrounds:
            assert contrast(ink, background) >= 4.5, (theme.name, name, background.hex)
    for front, back in [
        ("block-cursor-foreground", values["block-cursor-background"]),
        ("kg-on-primary", theme.primary),
    ]:
        assert contrast(_rgb(values[front], "#e5e5e5"), _rgb(back, "#000000")) >= 4.5, (theme.name, front)
    blurred = _rgb(values.get("block-cursor-blurred-foreground", theme.foreground), "#e5e5e5")
    assert contrast(blurred, _rgb(values["block-cursor-blurred-background"], "#000000")) >= 4.5
    if theme.name == "kgtui-contrast":
        assert all(contrast(ink, background) >= 7 for ink in inks.values() for background in backgrounds)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("primary = ", "Invalid value"),
        ('primary = "#zzz"', "is not a color"),
        ('prim = "#fff"', "unknown key 'prim'"),
        ('primary = "#fff"', "roles.kg-ok"),
        ('primary = "#fff"\ndark = "yes"', "dark: expected true or false"),
        ('primary = "#fff"\nroles = 3', "roles: expected a table"),
        ('name = "../x"\nprimary = "#fff"', "name: expected"),
    ],
)
def test_invalid_theme_files_are_reported_and_valid_files_are_loaded(tmp_path: Path, content: str, reason: str) -> None:
    roles = "\n".join(f'{role} = "#123456"' for role in ROLES)
    (tmp_path / "good.toml").write_text(f'primary = "#fff"\n[roles]\n{roles}\n', encoding="utf-8")
    complete = "dark" in content or "name" in content
    invalid = f"{content}\n[roles]\n{roles}\n" if complete else content
    (tmp_path / "bad.toml").write_text(invalid, encoding="utf-8")
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe\x00")
    loaded, failed = load([tmp_path, tmp_path / "missing", None])
    assert [theme.name for theme in loaded] == ["good"]
    assert [one.path.name for one in failed] == ["bad.toml", "binary.toml"]
    assert reason in failed[0].reason


def test_user_theme_replaces_the_shipped_theme_of_the_same_name(tmp_path: Path) -> None:
    roles = "\n".join(f'{role} = "#123456"' for role in ROLES)
    (tmp_path / "x.toml").write_text(f'name = "{DEFAULT}"\nprimary = "#010203"\n[roles]\n{roles}\n', encoding="utf-8")
    loaded, _ = load([shipped_folder(), tmp_path])
    assert next(theme for theme in loaded if theme.name == DEFAULT).primary == "#010203"
