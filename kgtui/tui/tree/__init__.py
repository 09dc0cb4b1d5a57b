"""The tree of groups on the main screen. It reacts to keys without delay, even with 100,000 groups.

| module | contents |
|---|---|
| `grouping` | puts the groups under tree nodes, for example by type and state |
| `totals` | computes the total lag and the worst problem of the groups under each node |
| `sorting` | sorts the groups of a node |
| `layout` | finds the node or group in a row, and the row of a node or group |
| `model` | filters and sorts the groups, and puts them under nodes; stores open nodes, marked groups and cursor |
| `columns` | defines the columns, and chooses those that fit into the tree |
| `rows` | composes the text of each row |
| `renderer` | draws the rows |
| `left_side` | the tree with its heading; saves the columns and the sort order |
| `widget` | the widget of the tree, which handles keys and the mouse |

Functions that loop over many groups are generators. They yield after about every 1,000 groups, so that keys can be
handled in between.
"""
