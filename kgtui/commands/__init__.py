"""The command line, one module per command; builds the parts and hands them to each other.

May import every room, and does so inside functions: `kgtui ls` must not wait for what only the UI needs. A command
module has `SUMMARY`, `configure(parser)` and `run(args) -> int` (the exit code).
"""
