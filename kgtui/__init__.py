"""kgtui shows and manages every group of a Kafka cluster: in a terminal, on the command line, and from Python.

The README lists the packages. The docstring of each package lists its modules, and says which packages it may import.
A test checks that the lists of modules are complete, and import-linter checks the imports.
"""

__version__ = "0.1.0"
