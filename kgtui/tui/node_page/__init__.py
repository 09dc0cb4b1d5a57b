"""The page that the screen shows while the cursor of the tree is on a node instead of a group.

The page summarizes a set of groups: all groups of the cluster, or the groups under the node.

| module | contents |
|---|---|
| `summary` | computes the values of the page, and how many problems it lists |
| `page` | the widget |
| `heading` | the lines above the tables: the title, and the titles of the parts |
| `tables` | rows and columns of the tables of the page |
| `right_side` | shows the page or the panes, and keeps the list of all problems current |
"""
