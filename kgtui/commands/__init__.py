"""The command line, one module per command.

A command module has `configure(parser)`, which adds its options, and `run(args)`, which returns the exit code. Some
also have `epilog()`, the text below their `--help`. `kgtui.commands.parser` lists all commands.

The package may import every other package. Most imports are inside functions, so that `kgtui ls` does not load what
only the screen needs.
"""
