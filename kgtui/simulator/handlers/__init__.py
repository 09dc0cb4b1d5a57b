"""Handlers, which compute the responses of simulated brokers to requests. They do not use sockets.

| module | contents |
|---|---|
| `dispatch` | decodes a request, calls its handler, encodes the response |
| `request_context` | the request, the broker and the cluster that a handler gets |
| `cluster` | handlers of ApiVersions, Metadata, FindCoordinator |
| `groups` | handlers of ListGroups, the describe RPCs, DeleteGroups |
| `offsets` | handlers of OffsetFetch, DescribeShareGroupOffsets, ListOffsets |
| `configs` | handler of DescribeConfigs |
"""
