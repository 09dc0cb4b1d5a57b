"""Groups as tables, JSON, CSV and Markdown, for the command line and for the export from the screen.

The modules take values of the model and return text or bytes; they import the model only. Tables are for people, and
escape every character that could act on a terminal. JSON and CSV are for programs, and keep every id exactly. An
unknown value is never written as 0: it is `null`, an empty cell, or one of the marks in `kgtui.output.marks`.
"""
