"""The terminal UI: draws snapshots and hands what the user wants to `monitor` and `actions`.

Imports `monitor`, `actions`, `history`, `output`, `admin`'s interface, `model`, `config` and `errors`; nobody but
`commands` imports this room, and no other room imports Textual.
"""

import os

# Frames a second at most, which Textual reads when it is imported. A key that comes right after a poll's frame waits
# for nearly two of them before it is seen: 33 ms with its 60.
os.environ.setdefault("TEXTUAL_FPS", "250")
