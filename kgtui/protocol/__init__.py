"""Encode and decode Kafka's binary protocol: requests, responses, member data and records of `__consumer_offsets`.

This package may import only `kgtui.errors` and the standard library. It opens no sockets.

| module | contents |
|---|---|
| `messages` | one table of fields per request and response |
| `api` | encodes and decodes messages with these tables |
| `schema` | parses a table into `Struct` and `Field` |
| `decoder_codegen` | generates the decoder of one version of a message |
| `encoder_codegen` | generates the encoder of one version of a message |
| `source_builder` | builds and compiles the Python source of a decoder or encoder |
| `primitives` | primitive types, such as varints and strings, and errors for malformed data |
| `fast_list_groups` | hand-written decoder for large ListGroups responses |
| `fast_offsets` | hand-written decoders for large OffsetFetch and ListOffsets responses |
| `header` | request and response headers |
| `error_codes` | Kafka's error codes with messages, and what clients and users can do |
| `member_data` | metadata and assignments of members of classic groups |
| `records` | records of `__consumer_offsets` |
"""
