"""kgtui shows and manages every group of a Kafka cluster: in a terminal, on the command line, and from Python.

The README describes the packages, and says which packages each of them may import. import-linter checks the imports.
"""

__version__ = "0.1.0"
