"""The state folder: where backups, the audit log, recordings, exports and logs are stored."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class StateFolder:
    """Paths of the files and folders in the state folder of kgtui. They do not exist before they are first needed."""

    path: Path

    @property
    def backups(self) -> Path:
        """Folder with one JSON-lines file and one CSV file per deleted group."""
        return self.path / "backups"

    @property
    def audit(self) -> Path:
        """Path of the audit log."""
        return self.path / "audit.jsonl"

    @property
    def lock(self) -> Path:
        """Path of the lock file. Every process that executes a deletion holds a shared lock on it."""
        return self.path / "writing.lock"

    @property
    def exports(self) -> Path:
        """Folder of the files that the screen exports."""
        return self.path / "exports"

    @property
    def lakes(self) -> Path:
        """Folder of the recordings that are started from the screen, one folder per cluster."""
        return self.path / "lakes"

    @property
    def log(self) -> Path:
        """Path of the log file."""
        return self.path / "kgtui.log"

    @property
    def crashes(self) -> Path:
        """Folder of crash reports."""
        return self.path


def state_folder() -> StateFolder:
    """Return the state folder of the user, or the one named by `KGTUI_STATE_DIR`."""
    if given := os.environ.get("KGTUI_STATE_DIR"):
        return StateFolder(Path(given).expanduser())
    from platformdirs import user_state_path

    return StateFolder(user_state_path("kgtui", appauthor=False))
