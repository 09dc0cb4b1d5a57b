"""The widgets around the tree and the panes: header, filter bar, group detail, lines about broker errors, footer."""
