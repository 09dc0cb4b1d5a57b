"""Hand-written decoders of the three answers that get large; each equals the general decoder of its table.

May import `kgtui.protocol.wire`, `kgtui.protocol.messages`.

They count on what nearly every row looks like (no tagged fields, short strings, metadata of one length), check
that, and read a row that looks different the long way.
"""

from __future__ import annotations

from kgtui.protocol.fast.list_groups import (
    GroupRow,
    ListGroupsFrame,
    ListGroupsRows,
    decode_list_groups,
    row_decoder,
    split_list_groups,
    split_rows,
)
from kgtui.protocol.fast.list_offsets import ListOffsetsAnswer, OffsetRow, decode_list_offsets
from kgtui.protocol.fast.offset_fetch import CommitRow, OffsetFetchAnswer, decode_offset_fetch

__all__ = [
    "CommitRow",
    "GroupRow",
    "ListGroupsFrame",
    "ListGroupsRows",
    "ListOffsetsAnswer",
    "OffsetFetchAnswer",
    "OffsetRow",
    "decode_list_groups",
    "decode_list_offsets",
    "decode_offset_fetch",
    "row_decoder",
    "split_list_groups",
    "split_rows",
]
