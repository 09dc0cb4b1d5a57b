"""Where the state of ours lies."""

from __future__ import annotations

import os
from pathlib import Path


def state_folder() -> Path:
    """The state folder: `KGTUI_STATE_DIR`, or the platform's."""
    given = os.environ.get("KGTUI_STATE_DIR")
    if given:
        return Path(given)
    from platformdirs import user_state_path

    return user_state_path("kgtui")
