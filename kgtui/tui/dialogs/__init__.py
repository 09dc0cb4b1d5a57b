"""Modal dialogs, which ask for input or show a text.

To avoid circular imports, this package imports neither the main screen nor the app.

| module | contents |
|---|---|
| `delete` | shows what a deletion of groups would lose, asks for confirmation, and deletes |
| `delete_table` | texts and tables of the delete dialog; the dialog with the results |
| `explain` | explains the state and the problems of a group, and says what to do |
| `export` | writes the data of a group to a file, for an incident report |
| `recordings` | three dialogs: record the cluster, open a recording, go to a time in a recording |
| `columns` | chooses the columns of the tree |
| `clusters` | opens a different configured cluster |
| `copied` | shows a command that was copied to the clipboard |
| `prompt` | base class of dialogs with text fields |
"""
