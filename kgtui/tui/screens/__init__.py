"""Screens of the terminal UI that fill the whole terminal.

| module | contents |
|---|---|
| `cluster` | the screen of one cluster, without its keys |
| `main` | the screen of one cluster with all keys, and the screen of a recording above it |
| `start` | the start screen: configured clusters, an address to type, the demo |
| `help` | keys, symbols and filter terms |
| `comparison` | differences between two recorded times |
| `events` | changes to groups and brokers, newest first |
"""
