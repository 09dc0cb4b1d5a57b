"""Encode and decode Kafka's binary protocol: requests, responses, member data and records of `__consumer_offsets`.

This package may import only `kgtui.errors` and the standard library. It opens no sockets.

| module | contents |
|---|---|
| `messages` | the message tables: one declarative table per request and response |
| `api` | classes that encode and decode messages with these tables |
| `schema` | parses a message table into `Struct` and `Field` |
| `decoder_codegen` | generates and compiles the decoder of one version of a message |
| `encoder_codegen` | generates and compiles the encoder of one version of a message |
| `source_builder` | builds the Python source of a generated decoder or encoder, and compiles it |
| `primitives` | Kafka's primitive types, such as varints and strings, and errors for malformed data |
| `fast_list_groups` | hand-written decoder for large ListGroups responses |
| `fast_offsets` | hand-written decoders for large OffsetFetch and ListOffsets responses |
| `header` | encodes and decodes request and response headers |
| `error_codes` | Kafka's error codes, with their messages, the reactions of a client, and advice for the user |
| `member_data` | decodes and encodes the metadata and assignments of members of classic groups |
| `records` | decodes and encodes records of `__consumer_offsets` |
"""
