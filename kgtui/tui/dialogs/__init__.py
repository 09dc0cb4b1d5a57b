"""Modal dialogs. Each dialog asks the user for input or shows a text, and returns a result when it is dismissed.

A dialog acts on the groups that were selected or marked when it was opened, even if the selection changes later. This
package imports `actions`, `model` and widgets, but neither the main screen nor the app.

| module | contents |
|---|---|
| `delete` | whether a deletion is safe, its confirmation and its execution |
| `delete_table` | contents of the delete dialogs: fields and tables; the dialog with the results |
| `explain` | the verdict on a group, what its errors and its state mean, and what to do |
| `export` | writes the incident report of a group |
| `recordings` | record, open a recording, go to a time |
| `columns` | chooses the columns of the tree |
| `clusters` | chooses another configured cluster |
| `copied` | shows a copied command, so that it can be selected by hand |
| `prompt` | base class of dialogs that ask for text; status line for errors |
"""
