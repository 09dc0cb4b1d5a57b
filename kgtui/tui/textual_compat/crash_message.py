"""End the app after a defect with a message that names the crash report and prints no local variables.

Textual 8.2.8 prints a traceback with the values of local variables, which may be passwords. It prints an exception that
has a `__rich__` method as that method renders it.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from rich.text import Text
from textual.app import App
from textual.worker import WorkerFailed

from kgtui.config.crash import write_report

if TYPE_CHECKING:
    from pathlib import Path

_log = logging.getLogger(__name__)


class CrashedError(Exception):
    """Wraps a defect that ends the app.

    Attributes:
        report: path of the crash report; None when it could not be written.
    """

    def __init__(self, error: BaseException, report: Path | None) -> None:
        super().__init__(f"{type(error).__name__} (report: {report})")
        self.report = report
        self._error_name = type(error).__name__

    def __rich__(self) -> Text:
        where = f"A report without secrets is in {self.report}" if self.report else "No report could be written"
        return Text(f"kgtui stopped because of a defect in it ({self._error_name}). {where}.")


class CrashReportingApp(App[int]):
    """An app that writes a crash report for a defect, in place of Textual's traceback."""

    exiting = False
    """Whether the app is about to end."""

    @property
    def crash_folder(self) -> Path:
        """The folder in which crash reports are written. Must be overridden."""
        raise NotImplementedError

    def _handle_exception(self, error: Exception) -> None:
        if self.exiting or not self.is_running:
            # This is not a defect: workers still run while the app ends, but their widgets are already removed.
            _log.info("error while exiting: %s", type(error).__name__)
            return
        if not isinstance(error, CrashedError):
            cause = error.error if isinstance(error, WorkerFailed) else error
            error = _reported(cause, self.crash_folder)
            error.__cause__ = cause
        super()._handle_exception(error)


def _reported(error: BaseException, folder: Path) -> CrashedError:
    try:
        return CrashedError(error, write_report(error, folder, "the screen"))
    except OSError:
        return CrashedError(error, None)
