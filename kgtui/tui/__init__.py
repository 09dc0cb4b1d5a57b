"""The terminal UI: shows snapshots of a monitor, and lets the user search, inspect and change groups.

This package imports `monitor`, `actions`, `history`, `insights`, `lake`, `output`, `model`, `config`, `errors` and the
interface in `admin`. Only `commands` imports this package, and no other package imports Textual.
"""

import os

# The frame rate is set before Textual is imported, because Textual reads it during the import. A key that is pressed
# just after a poll was drawn waits for nearly two frames: 33 ms at Textual's default of 60 frames per second, but only
# 8 ms at 250.
os.environ.setdefault("TEXTUAL_FPS", "250")
