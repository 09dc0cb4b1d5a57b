"""The installed program in a real terminal: what a user sees after each key, and what is left when the program ends.

`tests.e2e.terminal` runs the program in tmux. Tests wait for texts instead of for time. Tests share a running program
where they can, and each test leaves it as it found it.
"""
