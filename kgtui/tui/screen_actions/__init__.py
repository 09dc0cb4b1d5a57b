"""The actions of the main screen, each with its key, help text, availability and function.

`table` contains all actions. Keys, footer, help, command palette and the README's key table are generated from it. To
add an action, write its function and its `Action` into the module of its section.

This package imports widgets and dialogs. It imports neither the main screen nor the app, because both import this
package.

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
