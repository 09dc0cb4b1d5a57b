"""The terminal UI: shows snapshots of a monitor, and lets the user search, inspect and change groups.

Imports `monitor`, `actions`, `history`, `insights`, `lake`, `output`, `admin`'s interface, `model`, `config` and
`errors`. Only `commands` imports this package, and no other package imports Textual.
"""

import os

# Set this before Textual is imported, because Textual reads its frame rate then. A key that is pressed just after a
# poll was drawn waits for nearly two frames. With Textual's default of 60 frames per second, that is 33 ms.
os.environ.setdefault("TEXTUAL_FPS", "250")
