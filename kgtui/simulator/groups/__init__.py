"""Simulated groups of each type. States, members, assignments and committed offsets are computed from the current time.

| module | contents |
|---|---|
| `base` | the base class: members, rebalances and committed offsets |
| `classic` | classic groups: groups of consumers, Connect workers and schema registries; simple groups |
| `consumer` | consumer groups (KIP-848) |
| `share` | share groups (KIP-932) |
| `streams` | streams groups (KIP-1071) |
"""
