"""Functions that patch kgtui so that it leaks a secret. Each function makes it leak in another place, such as the log.

A test uses these functions to check that the search for secrets finds a secret in each place.
"""

from __future__ import annotations

import logging
import subprocess
import sys
from functools import wraps
from typing import TYPE_CHECKING, Any

from kgtui.errors import ConnectError

if TYPE_CHECKING:
    from collections.abc import Callable

    Patch = Callable[[Any, str, Any], object]
    """A function like `setattr`, which sets an attribute of a module or class to a value."""


def in_output(patch: Patch, secret: str) -> None:
    """Make commands print `secret` to standard output while they log in."""
    _before_login(patch, lambda: sys.stdout.write(secret))


def in_log(patch: Patch, secret: str) -> None:
    """Make commands log `secret` at level DEBUG while they log in."""
    _before_login(patch, lambda: logging.getLogger("kgtui").debug("logging in with %s", secret))


def in_traceback(patch: Patch, secret: str) -> None:
    """Make kgtui fail in a function that has `secret` in a local variable."""
    from kgtui.client.pool import Pool

    async def metadata(*_: object, **__: object) -> None:
        password = secret
        raise ConnectError(f"the password has {len(password)} characters")

    patch(Pool, "metadata", metadata)


def in_crash_report(patch: Patch, secret: str) -> None:
    """Make kgtui add `secret` to crash reports."""
    from kgtui.config import crash

    patch(crash, "redact", lambda text: f"{text}\n{secret}")


def in_recording(patch: Patch, secret: str) -> None:
    """Make kgtui write `secret` into the column `protocol` of recorded groups."""
    from kgtui.history import rows

    def listing_row(listing: Any) -> tuple[object, ...]:
        return (listing.type, secret, listing.state, listing.coordinator)

    patch(rows, "listing_row", listing_row)


def on_screen(patch: Patch, secret: str) -> None:
    """Make the export dialog show `secret` on the screen."""
    from textual.widgets import Static

    from kgtui.tui.dialogs.export import ExportDialog

    compose = ExportDialog.compose

    def with_secret(dialog: ExportDialog) -> Any:
        yield Static(secret)
        yield from compose(dialog)

    patch(ExportDialog, "compose", with_secret)


def in_export(patch: Patch, secret: str) -> None:
    """Make the export dialog write `secret` to the exported file."""
    from kgtui.tui.dialogs.export import ExportDialog

    export: Callable[..., Any] = ExportDialog._export

    def with_secret(dialog: ExportDialog, form: Any) -> Any:
        path = export(dialog, form)
        with path.open("a") as file:
            file.write(secret)
        return path

    patch(ExportDialog, "_export", with_secret)


def in_process_list(patch: Patch, secret: str) -> None:
    """Make the export dialog start a child process with `secret` on the command line."""
    from kgtui.tui.dialogs.export import ExportDialog

    compose = ExportDialog.compose

    def starting(dialog: ExportDialog) -> Any:
        # The child process exits when its standard input is closed, which happens when kgtui exits.
        subprocess.Popen([sys.executable, "-c", "input()", secret], stdin=subprocess.PIPE, stderr=subprocess.DEVNULL)
        yield from compose(dialog)

    patch(ExportDialog, "compose", starting)


def in_spark_plan(patch: Patch, secret: str) -> None:
    """Make kgtui pass `secret` to Spark as the Kafka client id. Spark's plans show client ids, but not passwords."""
    from kgtui.pipeline import sources

    options = sources.kafka_options
    patch(sources, "kafka_options", lambda topic: options(topic) | {"kafka.client.id": secret})


def _before_login(patch: Patch, act: Callable[[], object]) -> None:
    """Patch kgtui so that it calls `act` immediately before each login."""
    from kgtui.client import session

    log_in = session.log_in

    @wraps(log_in)
    async def acting(*arguments: Any, **options: Any) -> Any:
        act()
        return await log_in(*arguments, **options)

    patch(session, "log_in", acting)
