"""Test the installed program in a real terminal: the screen after each key, and the terminal after the program's exit.

`tests.e2e.terminal` runs the program in tmux. Tests wait until the screen shows an expected text, and do not sleep for
a fixed time. Several tests use the same running program, so each test must restore the program's state when it ends.
"""
