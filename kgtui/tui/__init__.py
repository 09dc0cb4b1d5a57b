"""The terminal UI lets the user search, inspect and change groups.

A monitor polls the brokers and publishes snapshots of the cluster; this package shows them. No other package imports
Textual.

| module | contents |
|---|---|
| `app` | the Textual app: shows one session, handles signals, loads themes, opens dialogs |
| `session` | `Session`: one open cluster or recording, with its monitor and settings |
| `screens` | screens that fill the terminal: main, start, help, comparison, events |
| `screen_actions` | the actions of the main screen, with their keys |
| `tree` | the tree of groups |
| `panes` | the tabs with details of one group |
| `node_page` | the page about the cluster or about one node of the tree: problems, changes, brokers, groups |
| `widgets` | header, filter bar, footer and other widgets of the main screen |
| `dialogs` | modal dialogs: delete, export, explain, recordings |
| `insights` | the Insights screen: problems found in the tables that Spark computes from a recording |
| `plots` | plots of lag, rates and members |
| `recent_events` | reads the events of a recording in the hour before the displayed time |
| `recording` | records the open cluster, and finds the folders of recordings |
| `messages` | Textual messages from widgets and dialogs to the screen and the app |
| `palette` | the command palette |
| `startup_notices` | notices at the start, about the configuration and about unfinished deletions |
| `event_rows` | rows of event lists; older events of one group share one row |
| `problem_index` | the groups with a problem, updated with each new snapshot |
| `themes` | reads theme files |
| `ascii_filter` | in ASCII mode, replaces non-ASCII characters in drawn lines |
| `sparkline` | sparklines (tiny plots) and bars that consist of block characters |
| `text` | formats numbers and times, and escapes control characters in names |
| `textual_compat` | workarounds for problems of Textual |
"""

import os

# Let Textual draw up to 250 frames per second, instead of its default of 60. The effect of a key is then visible after
# at most two frames, which is 8 ms instead of 33 ms. Textual reads this variable during its import, so set the variable
# before the import.
os.environ.setdefault("TEXTUAL_FPS", "250")
