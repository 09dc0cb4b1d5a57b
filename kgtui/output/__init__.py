"""Writes groups as tables, JSON, CSV and Markdown, for commands and for the incident export of the screen.

The modules take objects of the model and return text or bytes; they import only the model. Tables are for people: every
character that could control a terminal is escaped. JSON and CSV are for programs: they contain every id unchanged. An
unknown value is never written as 0: it is `null`, an empty cell, or one of the marks in `kgtui.output.marks`.
"""
