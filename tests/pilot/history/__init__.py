"""The keys and screens of what happened: the History pane, recording, travelling through a recording."""
