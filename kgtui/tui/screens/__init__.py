"""Full screens: the main screen of a cluster, the start screen, the help, the comparison of two times, and events.

| module | contents |
|---|---|
| `cluster` | the screen of one cluster, without its keys |
| `main` | the screen of one cluster with all keys, and a recording that is shown over it |
| `start` | the start screen: configured clusters, an address to type, the demo |
| `help` | keys, symbols and filter terms |
| `comparison` | differences between two recorded times |
| `events` | what changed in groups and brokers, newest first |
"""
