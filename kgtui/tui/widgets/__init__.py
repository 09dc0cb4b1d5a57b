"""Widgets of the cluster's screen around tree and panes: header, filter bar, group detail, broker faults, footer."""
