"""The gold tables: what follows from records and recordings."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kgtui.history.schemas.definition import Table

GOLD: tuple[Table, ...] = ()
"""The tables of this layer."""
