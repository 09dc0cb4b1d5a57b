"""Full screens: the main screen of a cluster, the start screen, the help, and the comparison of two times."""
