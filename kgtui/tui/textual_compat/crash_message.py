"""Replace Textual's traceback after an unexpected exception with a short message that names the path of a crash report.

The traceback of Textual 8.2.8 contains the values of local variables, which may be passwords. Textual prints the text
that an exception returns from `__rich__` in place of the traceback. Therefore the unexpected exception is wrapped in a
`CrashedError`, which has a `__rich__` method.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from rich.text import Text
from textual.app import App
from textual.worker import WorkerFailed

from kgtui.config.crash import write_report
from kgtui.errors import CRASHED

if TYPE_CHECKING:
    from pathlib import Path

_log = logging.getLogger(__name__)


class CrashedError(Exception):
    """Raised instead of an unexpected exception, which is its `__cause__`.

    Textual prints a `CrashedError` as a short message for the user, without a traceback.

    Attributes:
        report: path of the crash report; None if the report could not be written.
    """

    def __init__(self, error: BaseException, report: Path | None) -> None:
        super().__init__(f"{type(error).__name__} (report: {report})")
        self.report = report
        self._error_name = type(error).__name__

    def __rich__(self) -> Text:
        where = f"A report without secrets is in {self.report}" if self.report else "No report could be written"
        return Text(f"kgtui stopped because of an internal error ({self._error_name}). {where}.")


class CrashReportingApp(App[int]):
    """An app that writes a crash report and shows a short message after an unexpected exception."""

    exiting = False
    """Whether the app is exiting. Exceptions during the exit are only logged."""

    @property
    def crash_folder(self) -> Path:
        """The folder for crash reports. Subclasses must override this property."""
        raise NotImplementedError

    def _handle_exception(self, error: Exception) -> None:
        if self.exiting or not self.is_running:
            # While the app exits, exceptions are expected and only logged, because workers still run although their
            # widgets are gone.
            _log.info("error while exiting: %s", type(error).__name__)
            return
        if not isinstance(error, CrashedError):
            cause = error.error if isinstance(error, WorkerFailed) else error
            error = _reported(cause, self.crash_folder)
            error.__cause__ = cause
            # From now on, exceptions are only logged, so that there is only one report per crash.
            self.exiting = True
        super()._handle_exception(error)
        self._return_code = CRASHED


def _reported(error: BaseException, folder: Path) -> CrashedError:
    try:
        return CrashedError(error, write_report(error, folder, "the terminal UI"))
    except OSError:
        return CrashedError(error, None)
