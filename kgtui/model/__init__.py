"""What a group is: values and pure functions over them.

Imports `kgtui.errors` and the standard library only (and RE2, inside the filter language). Nothing here knows bytes,
sockets or widgets. Unknown is `None` everywhere, and never 0.
"""
