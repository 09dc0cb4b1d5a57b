"""kgtui: every group of a Kafka cluster, live, in a terminal, on the command line and from Python.

`errors` is drawn in its own docstring; the rooms and who may import whom are in the README.
"""

__version__ = "0.1.0"
