"""kgtui shows and manages every group of a Kafka cluster: in a terminal, on the command line, and from Python.

The README lists the packages. The docstring of each package says which packages it may import, and import-linter
checks that.
"""

__version__ = "0.1.0"
