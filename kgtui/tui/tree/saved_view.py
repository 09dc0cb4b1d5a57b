"""Save the columns and the order of the tree that the user has chosen, and restore them at the next start."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from kgtui.config.state_folder import private_folder
from kgtui.model.defaults import TREE_COLUMNS
from kgtui.model.query.sort_keys import SORT_KEYS
from kgtui.private_files import open_private

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class SavedView:
    """The columns and the order of the tree, as they were saved.

    Attributes:
        configured: ids of the columns in `config.toml` when the view was saved. If `config.toml` has been changed since
            then, its columns replace `columns`.
        columns: ids of the columns, the most important one first.
        sort: the key of `SORT_KEYS` by which groups are sorted.
        descending: whether groups with the largest value come first.
    """

    configured: tuple[str, ...]
    columns: tuple[str, ...]
    sort: str
    descending: bool


def load_view(path: Path, configured: tuple[str, ...]) -> SavedView | None:
    """Return the saved view; None if there is none, or if a newer kgtui has written it in another format.

    Args:
        path: the file with the view.
        configured: ids of the columns that are in `config.toml` now.
    """
    try:
        with open(open_private(path, os.O_RDONLY), "rb") as file:
            content = json.load(file)
        known = [tuple(map(str, content[key])) for key in ("configured", "columns")]
        view = SavedView(known[0], known[1], str(content["sort"]), content["descending"] is True)
    except (OSError, ValueError, TypeError, KeyError):
        return None
    if view.sort not in SORT_KEYS or not set(view.columns) <= set(TREE_COLUMNS):
        return None
    return view if view.configured == configured else SavedView(configured, configured, view.sort, view.descending)


def save_view(path: Path, view: SavedView) -> None:
    """Write a view to the file `path`, and create its folder if it does not exist.

    Raises:
        OSError: the file cannot be written.
    """
    private_folder(path.parent)
    with open(open_private(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), "wb") as file:
        file.write(json.dumps(asdict(view)).encode())
