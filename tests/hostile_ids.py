"""Hostile group ids: ids in the demo cluster that many programs handle wrongly.

For example, some ids contain control characters, and some are very long.
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
