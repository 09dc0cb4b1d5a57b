"""Modal dialogs. Each asks for one thing or shows one thing, and is dismissed with the answer.

A dialog keeps the groups for which it was opened, whatever is selected later. Imports `actions`, `model` and the parts
of the screen, but neither the main screen nor the app.
"""
