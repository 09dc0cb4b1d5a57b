"""The node page: a summary of the groups under one node of the group tree, or of all groups.

A node contains one or more groups, for example all groups in the state Stable.

| module | contents |
|---|---|
| `summary` | computes the values of the page, such as sums and counts over the groups |
| `page` | the widget that shows the page |
| `heading` | the title of the page, and the line with the titles of its tables |
| `tables` | rows and columns of the tables of the page |
| `right_side` | the right side of the main screen, which shows the node page or the panes of one group |
"""
