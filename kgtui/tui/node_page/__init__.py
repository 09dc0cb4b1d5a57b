"""The page for a node of the group tree: a summary of all groups of the cluster, or of the groups under the node.

| module | contents |
|---|---|
| `summary` | computes the values of the page |
| `page` | the widget that shows the page |
| `heading` | the lines above the tables: the title of the page, and the titles of the tables |
| `tables` | rows and columns of the tables of the page |
| `right_side` | shows the page or the panes of a group, and keeps the list of all problems current |
"""
