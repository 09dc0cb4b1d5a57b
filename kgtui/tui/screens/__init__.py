"""Screens of the terminal UI that fill the whole terminal.

| module | contents |
|---|---|
| `cluster` | the screen of one cluster, without key bindings |
| `main` | the screen of one cluster with all keys |
| `start` | the start screen: opens a cluster |
| `help` | keys, symbols and filter terms |
| `comparison` | differences between two times in a recording |
| `events` | changes to groups and brokers, newest first |
"""
