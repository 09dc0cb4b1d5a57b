"""Test the installed program in a real terminal (tmux): what it shows after each key, and how it exits.

Tests wait for expected texts, not for a fixed time. Several tests share a running program, so each test must restore
the state in which it found the program. If the screen shows that a test has not done so, the next test restarts the
program.
"""
