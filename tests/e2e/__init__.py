"""Tests of the installed program in a real terminal: the screen after each key, and the terminal after the exit.

`tests.e2e.terminal` runs the program in tmux. Tests wait for texts instead of for time. Several tests use the same
running program, so each test restores the state of the program at its end.
"""
