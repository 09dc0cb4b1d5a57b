"""The actions of the main screen, each with its key, help text, availability and function.

Keys, footer, help, command palette and the README's key table are generated from `table`. To avoid circular imports,
this package imports neither the main screen nor the app.

| module | contents |
|---|---|
| `action` | `Action`: key, texts, availability and function |
| `table` | the table of all actions; key bindings, footer and key table |
| `navigation` | sections Move and Find: cursor, focus, filter, grouping, sorting, marks |
| `group` | section Act: delete, copy, export, explain |
| `view` | section View: panes, views, time zone, polling, findings |
| `replay` | section Replay: opening a recording, moving in time, playing, comparing |
| `program` | section Program: palette, recording, other clusters, help, quit |
"""
