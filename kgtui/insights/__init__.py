"""Find problems of groups in the gold tables of a lake, and report them as HTML.

A lake is a folder of Delta tables with recorded groups; the pipeline computes its gold tables. Each rule reads rows of
one gold table and returns findings: what is wrong, the rows that show it, and what to do next.
This package imports only `lake` and `model`.
"""
