"""Modal dialogs. Each asks for one thing or shows one thing, and is dismissed with the answer.

A dialog acts on the groups that were selected or marked when it was opened, even if the selection changes later. This
package imports `actions`, `model` and the parts of the screen, but neither the main screen nor the app.
"""
