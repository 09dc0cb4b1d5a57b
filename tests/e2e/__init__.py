"""Test the installed program in a real terminal (tmux): the screen after each key, and the terminal after its exit.

Tests wait for expected texts, not for a fixed time. Several tests share a running program, so each test must restore
the state in which it found the program.
"""
