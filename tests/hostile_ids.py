"""Hostile group ids in the demo cluster. Many programs handle such ids wrongly.

For example, the ids contain control characters, or are very long.
"""

from __future__ import annotations

from kgtui.simulator.scenarios import FOLDER
from kgtui.simulator.scenarios.loader import read_file


def hostile_group_ids() -> list[str]:
    """Return the hostile group ids of the scenario named `company`, in the order of the file `company.toml`.

    The last two ids are the longest.
    """
    hostile_ids = read_file(FOLDER / "company.toml").hostile_ids
    return [] if hostile_ids is None else hostile_ids.all()
