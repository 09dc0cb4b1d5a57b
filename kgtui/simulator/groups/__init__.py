"""Groups of each type: their states, members, assignments and commits, as pure functions of time."""
