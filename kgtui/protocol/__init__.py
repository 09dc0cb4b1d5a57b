"""Encode and decode Kafka's binary protocol: requests, responses, member metadata, `__consumer_offsets` records.

This package may import only `kgtui.errors` and the standard library. It opens no sockets.

| module | contents |
|---|---|
| `messages` | tables of the fields of each request and response |
| `api` | encodes and decodes messages according to the tables of their fields |
| `schema` | parses a table of fields into `Struct` and `Field` objects |
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
