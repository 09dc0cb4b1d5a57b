"""A stream whose reader is gone."""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import TextIO


def lead_nowhere(stream: TextIO) -> None:
    """From now on all that is written goes nowhere, also what is still buffered.

    The interpreter's last flush would complain of that, and give the process an exit code of its own.
    """
    with contextlib.suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        try:
            os.dup2(nowhere, stream.fileno())
        finally:
            os.close(nowhere)
