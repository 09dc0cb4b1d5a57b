"""Modal dialogs. Each dialog asks for input or shows a text.

A dialog acts on the groups that were selected or marked when it was opened. This package imports `actions`, `model` and
widgets, but neither the main screen nor the app.

| module | contents |
|---|---|
| `delete` | confirms and executes a deletion |
| `delete_table` | fields and tables of the delete dialogs; the dialog with the results of a deletion |
| `explain` | explains the verdict, the errors and the state of a group, and what to do |
| `export` | writes the incident report of a group |
| `recordings` | three dialogs: record the cluster, open a recording, go to a time in a recording |
| `columns` | chooses the columns of the tree |
| `clusters` | chooses another configured cluster |
| `copied` | shows a copied command, so that it can be selected by hand |
| `prompt` | base class of dialogs with text fields; the status line that shows errors |
"""
