"""Replace Textual's traceback after an unexpected exception with a short message.

The traceback of Textual 8.2.8 contains the values of local variables, which can be passwords.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from rich.text import Text
from textual._context import active_message_pump
from textual.app import App
from textual.css.query import NoMatches
from textual.dom import DOMNode
from textual.worker import WorkerFailed, active_worker

from kgtui.config.crash import write_report
from kgtui.errors import CRASHED

if TYPE_CHECKING:
    from pathlib import Path

_log = logging.getLogger(__name__)


class CrashedError(Exception):
    """Replaces an unexpected exception, so that Textual prints only a short message.

    The original exception is stored in the attribute `__cause__`.

    Attributes:
        report: path of the crash report; None if it could not be written.
    """

    def __init__(self, error: BaseException, report: Path | None) -> None:
        super().__init__(f"{type(error).__name__} (report: {report})")
        self.report = report
        self._error_name = type(error).__name__

    def __rich__(self) -> Text:
        where = f"A report without secrets is in {self.report}" if self.report else "No report could be written"
        return Text(f"kgtui stopped because of an internal error ({self._error_name}). {where}.")


class CrashReportingApp(App[int]):
    """An app that writes an unexpected exception to a crash report, and shows the user only a short message."""

    exiting = False
    """Whether the app is exiting. While it is exiting, exceptions are only logged."""

    @property
    def crash_folder(self) -> Path:
        """The folder for crash reports. Subclasses must override this property."""
        raise NotImplementedError

    def _handle_exception(self, error: Exception) -> None:
        cause = error.error if isinstance(error, WorkerFailed) else error
        if self.exiting or not self.is_running:
            # Only log exceptions while the app exits. Exceptions are normal then, because some workers still run after
            # their widgets have been removed.
            _log.info("error while exiting: %s", type(cause).__name__)
            return
        # Textual removes the children of a widget before it stops the widget's workers. If a worker fails because it
        # cannot find a removed child, only log the error.
        if isinstance(cause, NoMatches) and _is_being_removed(_failed_node(error)):
            _log.info("error in a widget that is being removed: %s", cause)
            return
        if not isinstance(error, CrashedError):
            error = _reported(cause, self.crash_folder)
            error.__cause__ = cause
            # While `exiting` is set, further exceptions are only logged, so that only one crash report is written.
            self.exiting = True
        super()._handle_exception(error)
        self._return_code = CRASHED


def _failed_node(error: Exception) -> object:
    """Return the widget, screen or app whose worker, timer or message handler raised the exception."""
    return active_worker.get().node if isinstance(error, WorkerFailed) else active_message_pump.get(None)


def _is_being_removed(node: object) -> bool:
    return isinstance(node, DOMNode) and any(ancestor._pruning for ancestor in node.ancestors_with_self)


def _reported(error: BaseException, folder: Path) -> CrashedError:
    try:
        return CrashedError(error, write_report(error, folder, "the terminal UI"))
    except OSError:
        return CrashedError(error, None)
