"""Screens of the terminal UI that fill the whole terminal.

| module | contents |
|---|---|
| `cluster` | the screen of one cluster, without key bindings |
| `main` | the main screen: the screen of one cluster with all keys; opens a recording on a second main screen |
| `start` | the start screen: open a configured cluster, an address that the user types, or the demo cluster |
| `help` | keys, symbols and filter terms |
| `comparison` | differences between two polls of a recording |
| `events` | changes to groups and brokers, newest first |
"""
