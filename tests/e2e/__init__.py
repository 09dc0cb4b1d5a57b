"""The installed program in a real terminal: what a person sees, key by key, and what is left when it ends.

`tests.e2e.terminal` runs it in tmux. Tests wait for texts, never for time; they share a running program where
they can, and each leaves it as it found it.
"""
