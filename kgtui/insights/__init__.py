"""Findings about groups, taken from the gold tables of a lake, and the HTML report of them.

A rule turns rows of one gold table into findings; each finding has its evidence and says what to do next.
Imports `lake` and `model` only.
"""
