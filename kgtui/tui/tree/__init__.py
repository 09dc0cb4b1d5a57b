"""The tree of groups on the main screen, which stays responsive with 100,000 groups.

- `grouping` puts the groups of a snapshot under nodes, and sums up the lag of each node
- `sorting` sorts the groups of a node
- `layout` maps each row to the node or group that it shows, and each node or group to its row
- `model` filters, groups and sorts each snapshot, and keeps open nodes, marks and cursor from one to the next
- `rows` composes the text of a row
- `renderer` draws the rows on the screen
- `widget` is the tree's widget, which handles keys and the mouse

Only `renderer` and `widget` import Textual. Every loop over many groups is a generator that yields after each slice, so
that the event loop can handle keys between slices (`kgtui.model.slices`).
"""
