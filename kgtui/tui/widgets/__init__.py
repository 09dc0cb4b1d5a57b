"""The widgets around the tree and the panes, such as the header, the filter bar and the footer.

| module | contents |
|---|---|
| `header` | cluster, connection state, brokers, time of the last poll |
| `filter_bar` | the filter expression and its syntax errors |
| `group_detail` | title, tabs and panes of the selected group |
| `broker_faults` | errors of brokers and of the cluster |
| `empty_state` | the text that is shown instead of an empty tree |
| `footer` | the most important keys |
| `tabs` | base class: a line with the titles of tabs |
| `line` | base class: a widget with one line of text |
"""
