"""Modal screens: each asks or tells one thing about what it was opened for, and is dismissed with its answer.

Imports the rest of the tui, actions and model.
"""
