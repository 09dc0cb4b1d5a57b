"""Modal dialogs. Each dialog asks for input or shows a text.

A dialog acts on the groups that were selected or marked when it was opened. To avoid circular imports, this package
imports `kgtui.actions`, `kgtui.model` and widgets, but neither the main screen nor the app.

| module | contents |
|---|---|
| `delete` | shows what a deletion of groups would lose, asks for confirmation, and deletes the groups |
| `delete_table` | fields and tables of the delete dialogs; the dialog with the results of a deletion |
| `explain` | explains the health verdict, the errors and the state of a group, and says what to do |
| `export` | writes the data of a group to a file, for an incident report |
| `recordings` | three dialogs: record the cluster, open a recording, go to a time in a recording |
| `columns` | chooses the columns of the tree |
| `clusters` | opens a different configured cluster |
| `copied` | shows a command that was copied to the clipboard, so that the user can also select it with the mouse |
| `prompt` | base class of dialogs with text fields; the status line that shows errors |
"""
