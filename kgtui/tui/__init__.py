"""The terminal UI: draws snapshots and hands what the user wants to `monitor` and `actions`.

Imports `monitor`, `actions`, `output`, `admin`'s interface, `model`, `config` and `errors`; nobody but `commands`
imports this room, and no other room imports Textual.
"""
