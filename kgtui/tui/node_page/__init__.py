"""The page of a set of groups, which the screen shows while the cursor of the tree is not on a group.

The set is the whole cluster, or the groups under one node of the tree.

| module | contents |
|---|---|
| `summary` | computes the values of the page |
| `page` | the widget |
| `heading` | the lines above the tables: the title, and the titles of the parts |
| `tables` | rows and columns of the tables of the page |
| `right_side` | shows the page or the panes, and keeps the list of all problems current |
"""
