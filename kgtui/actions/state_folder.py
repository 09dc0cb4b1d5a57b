"""Where backups and the audit log lie: `backups/`, `audit.jsonl` and a lock in the state folder."""

from __future__ import annotations

import os
import tempfile
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kgtui.actions.files import private_folder, sync_folder
from kgtui.errors import RefusedError

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class StateFolder:
    """The folder that survives a session."""

    path: Path

    @property
    def backups(self) -> Path:
        """One JSON-lines file and one CSV for each deleted group."""
        return self.path / "backups"

    @property
    def audit(self) -> Path:
        """The audit log."""
        return self.path / "audit.jsonl"

    @property
    def lock(self) -> Path:
        """Held, shared, by every process that is in the middle of a write."""
        return self.path / "writing.lock"

    def check(self) -> None:
        """Try to write there. Raises `RefusedError` with the reason: what cannot be backed up is not deleted."""
        try:
            private_folder(self.path)
            with tempfile.NamedTemporaryFile(dir=private_folder(self.backups)) as probe:
                probe.write(b"\0" * 4096)
                probe.flush()
                os.fsync(probe.fileno())
            sync_folder(self.path)
        except OSError as error:
            why = error.strerror or error
            raise RefusedError(f"backups and audit log cannot be written to {self.path}: {why}") from error
