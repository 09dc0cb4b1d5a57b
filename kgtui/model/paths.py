"""Expands `~` in paths that users write in options, settings and environment variables."""

from __future__ import annotations

from pathlib import Path

from kgtui.errors import ConfigError


def expanded(path: str | Path, where: str = "") -> Path:
    """Return a path with the home folder in place of `~` or `~USER`.

    Args:
        where: text that error messages begin with, such as the name of a setting with a colon and a space.

    Raises:
        ConfigError: the home folder is not known, or the path contains a NUL character.
    """
    if "\0" in str(path):
        raise ConfigError(f"{where}{str(path)!r} contains a NUL character: correct the path")
    try:
        return Path(path).expanduser()
    except RuntimeError:
        raise ConfigError(
            f"{where}{path}: the home folder of this user is not known: write the path without ~"
        ) from None
