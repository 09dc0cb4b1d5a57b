"""Groups as tables, JSON and CSV: for the command line and for export from the UI.

Imports the model only; takes values and returns text. Tables are for people and make every text harmless; JSON and CSV
are for programs and keep every id exact. Unknown is never 0: `null`, an empty cell, `–`, `?` or `x`.
"""
