"""Read, transform, write: one module a layer.

`bronze` and `silver` are streams, which end when all that was there is done, or go on. `gold` is computed anew for the
days that changed. `run` puts them in order.
"""
