"""kgtui shows and manages all groups of a Kafka cluster: in a terminal UI, on the command line, and in Python.

The README lists the packages of kgtui, and the docstring of each package lists its modules. The section
`[tool.importlinter]` of `pyproject.toml` says which packages a package may import.
"""

__version__ = "0.1.0"
