"""Tests of the installed program in a real terminal: the screen after each key, and the terminal after the exit.

`tests.e2e.terminal` runs the program in tmux. Tests wait until a text is on the screen, and do not sleep for a fixed
time. Several tests use the same running program, so that each test must restore the program's state at its end.
"""
