"""The state folder, in which kgtui stores backups, the audit log, recordings, exports and logs.

Only the owner can read the folder. In this folder, kgtui follows no symbolic links, so that other users cannot make
kgtui write to a different place.
"""

from __future__ import annotations

import errno
import os
import stat
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kgtui.model.paths import expanded

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class StateFolder:
    """Paths of the files and folders in the state folder. Each file or folder is created when it is first needed."""

    path: Path

    @property
    def backups(self) -> Path:
        """Folder with one JSON-lines file and one CSV file per deleted group."""
        return self.path / "backups"

    @property
    def audit(self) -> Path:
        """Path of the audit log of deletions, a file of JSON lines (see `kgtui.actions.audit`)."""
        return self.path / "audit.jsonl"

    @property
    def lock(self) -> Path:
        """Path of the lock file, which shows whether another process is currently deleting groups.

        While a process deletes groups, it holds a shared lock on this file.
        """
        return self.path / "writing.lock"

    @property
    def exports(self) -> Path:
        """Folder in which the terminal UI stores exported files."""
        return self.path / "exports"

    @property
    def lakes(self) -> Path:
        """Folder for recordings that the user starts in the terminal UI. It contains one lake (folder) per cluster."""
        return self.path / "lakes"

    @property
    def view(self) -> Path:
        """Path of the file with the columns and the sort order that the user has chosen for the tree of groups."""
        return self.path / "view.json"

    @property
    def log(self) -> Path:
        """Path of the log file."""
        return self.path / "kgtui.log"

    @property
    def crashes(self) -> Path:
        """Folder of crash reports, which is the state folder itself."""
        return self.path


def state_folder() -> StateFolder:
    """Return the state folder: the folder in `KGTUI_STATE_DIR`, or the default folder for the user's state files."""
    if given := os.environ.get("KGTUI_STATE_DIR"):
        return StateFolder(expanded(given, "KGTUI_STATE_DIR: "))
    from platformdirs import user_state_path

    return StateFolder(user_state_path("kgtui", appauthor=False))


def private_folder(path: Path, *, inside: bool = False) -> Path:
    """Create a folder to which only its owner has access. If the folder exists, remove the access of other users.

    Missing parent folders are created, too.

    Args:
        inside: whether the folder is inside the state folder, where symbolic links are forbidden.

    Raises:
        OSError: the folder cannot be created, belongs to another user, or is a forbidden symbolic link.
    """
    if inside and path.is_symlink():
        raise NotADirectoryError(
            errno.ELOOP, f"the folder {path} is a symbolic link; remove it, or set KGTUI_STATE_DIR", str(path)
        )
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    found = path.stat()
    if found.st_uid != os.geteuid():
        raise PermissionError(
            errno.EPERM, "the folder belongs to another user; set KGTUI_STATE_DIR to a folder of your own", str(path)
        )
    if stat.S_IMODE(found.st_mode) & 0o077:
        path.chmod(0o700)
    return path
