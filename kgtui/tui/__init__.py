"""The terminal UI: shows snapshots of a monitor, and lets the user search, inspect and change groups.

Imports `monitor`, `actions`, `history`, `insights`, `lake`, `output`, `admin`'s interface, `model`, `config` and
`errors`. Only `commands` imports this package, and no other package imports Textual.
"""

import os

# Textual reads its limit of frames per second when it is imported. A key that follows the frame of a poll waits for
# nearly two frames, which is 33 ms with Textual's default of 60.
os.environ.setdefault("TEXTUAL_FPS", "250")
