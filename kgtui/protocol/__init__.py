"""Kafka's binary protocol: tables of messages, their codecs, headers, error codes, member bytes. No sockets.

May import `kgtui.errors` and the standard library, nothing else.

`messages` holds one declarative table per message; `schema` compiles a table, on first use of a version, to a
decode and an encode function; `fast` has hand-written decoders of the three answers that get large;
`consumer`, `connect` and `registry` read the bytes that members of classic groups hand to each other; `records` has
what group coordinators write into `__consumer_offsets`.
"""
