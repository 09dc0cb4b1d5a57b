"""kgtui shows and manages all groups of a Kafka cluster: in a terminal, on the command line, and in Python.

The README lists the packages. The docstring of each package lists its modules, and the packages that it may import.
"""

__version__ = "0.1.0"
