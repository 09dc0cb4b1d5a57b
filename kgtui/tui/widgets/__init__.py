"""The parts of the screen around tree and panes: header, filter bar, detail, fault lines, footer."""
