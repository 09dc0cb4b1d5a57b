"""Modal dialogs. Each dialog asks the user for input or shows something, and returns its result when it is dismissed.

A dialog acts on the groups that were selected or marked when it was opened, even if the selection changes later. This
package imports `actions`, `model` and the parts of the screen, but neither the main screen nor the app.
"""
