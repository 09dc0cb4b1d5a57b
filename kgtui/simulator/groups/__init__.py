"""How groups of each type behave: states, members, assignments and commits as functions of time."""
