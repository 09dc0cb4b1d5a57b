"""Kafka's binary protocol: message tables, codecs, headers, error codes, member data and records.

May import `kgtui.errors` and the standard library only. No module of this package opens a socket.

- `messages` has one declarative table per request and response. `api` has the classes that encode and decode with them.
- `schema` parses a table. `decoder_codegen` and `encoder_codegen` compile it to functions when a version is first used.
- `fast_list_groups` and `fast_offsets` are hand-written decoders for the three responses that can become large.
- `header` encodes and decodes the headers of requests and responses; `error_codes` explains error codes.
- `member_data` decodes the bytes that members of classic groups exchange.
- `records` decodes the records that group coordinators write into `__consumer_offsets`.
"""
