"""The page of a tree node: a summary of all groups of the cluster, or of the groups under the node.

| module | contents |
|---|---|
| `summary` | computes the values of the page, and how many problems it lists |
| `page` | the widget |
| `heading` | the lines above the tables: the title, and the titles of the parts |
| `tables` | rows and columns of the tables of the page |
| `right_side` | shows the page or the panes, and keeps the list of all problems current |
"""
