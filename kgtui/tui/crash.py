"""What ends the app after a defect: its words on the way out name the report, and nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from kgtui.config.crash import write_report

if TYPE_CHECKING:
    from pathlib import Path


class CrashedError(Exception):
    """Ends the app after a defect.

    Attributes:
        report: where the report is; None when it could not be written.
    """

    def __init__(self, error: BaseException, report: Path | None) -> None:
        super().__init__(f"{type(error).__name__} (report: {report})")
        self.report = report
        self._name = type(error).__name__

    def __rich__(self) -> Text:
        where = f"A report without secrets is in {self.report}" if self.report else "No report could be written"
        return Text(f"kgtui stopped because of a defect in it ({self._name}). {where}.")


def crashed(error: BaseException, folder: Path) -> CrashedError:
    """Report a defect and return what to end the app with."""
    try:
        report = write_report(error, folder, "the screen")
    except OSError:
        return CrashedError(error, None)
    return CrashedError(error, report)
