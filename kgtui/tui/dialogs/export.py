"""The Export dialog, which writes the data of a group to a file. The user can attach the file to an incident report."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, ClassVar

from textual import on, work
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.screen import ModalScreen
from textual.widgets import Button, Static

import kgtui
from kgtui.config.state_folder import private_folder
from kgtui.output.export_file import EXPORTS, ExportFormat, write
from kgtui.output.incident import incident
from kgtui.tui.panes.base import to_content
from kgtui.tui.panes.cells import ACCENT, ERROR, MUTED, OK, Cell, fit_text, wrap_cells

if TYPE_CHECKING:
    from pathlib import Path

    from textual.app import ComposeResult

    from kgtui.tui.screens.cluster import ClusterScreen


class ExportDialog(ModalScreen["Path | None"]):
    """Asks for a file format, and writes the data of a group to a file.

    The dialog's result is the path of the file, or None if no file was written.
    """

    DEFAULT_CSS = """
    ExportDialog { align: center middle; }
    ExportDialog #box {
        width: 76; max-width: 96%; height: auto; background: $surface; border: round $kg-accent; padding: 0 1;
    }
    ExportDialog Static { height: auto; margin-bottom: 1; }
    ExportDialog #buttons { height: 1; align-horizontal: right; }
    ExportDialog Button { margin-left: 2; }
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        *(Binding(export.key, f"write('{form}')", export.title, show=False) for form, export in EXPORTS.items()),
        Binding("escape,q", "close", "Close", show=False),
    ]

    def __init__(self, screen: ClusterScreen, group: str) -> None:
        super().__init__()
        self.group = group
        self.written: Path | None = None
        self._snapshot = screen.snapshot
        self._folder = screen.session.state_folder.exports
        self._command_config = screen.session.target.command_config

    def compose(self) -> ComposeResult:
        with Vertical(id="box"):
            yield Static(id="title")
            yield Static(id="message")
            with Horizontal(id="buttons"):
                for form, export in EXPORTS.items():
                    yield Button(export.title, id=form, compact=True)
                yield Button("Close", id="close", compact=True)

    def on_mount(self) -> None:
        self.query_one("#title", Static).update(
            to_content([(Cell("Export ", MUTED), Cell(fit_text(self.group, 60, cut="middle"), ACCENT))])
        )
        about = "Writes everything known about the group and its brokers, without secrets, to a new file in the folder "
        self._show([Cell(about, MUTED), Cell(str(self._folder))])
        self.query_one(Button).focus()

    def _show(self, cells: list[Cell]) -> None:
        width = max(20, min(76, int(self.app.size.width * 0.96)) - 4)
        self.query_one("#message", Static).update(to_content(wrap_cells(cells, width)))

    @on(Button.Pressed)
    def _pressed(self, event: Button.Pressed) -> None:
        if event.button.id == "close":
            self.action_close()
        elif event.button.id in EXPORTS:
            self.action_write(event.button.id)

    def action_close(self) -> None:
        self.dismiss(self.written)

    def action_write(self, form: ExportFormat) -> None:
        """Write the data of the group to a file in the format `form` (`markdown` or `json`)."""
        self._write(form)

    @work(exclusive=True, group="export", exit_on_error=False, description="export")
    async def _write(self, form: ExportFormat) -> None:
        try:
            self.written = await asyncio.to_thread(self._export, form)
        except OSError as error:
            why = error.strerror or str(error)
            self._show(
                [Cell("The file could not be written: ", ERROR), Cell(f"{error.filename or self._folder}: {why}")]
            )
        else:
            self._show([Cell("Written to ", OK), Cell(str(self.written))])
            self.query_one("#close").focus()

    def _export(self, form: ExportFormat) -> Path:
        report = incident(self._snapshot, self.group, version=kgtui.__version__, command_config=self._command_config)
        return write(private_folder(self._folder, inside=True), report, form)
