"""Whole screens: `main` shows a cluster, `start` finds one, `help` lists keys and filter terms."""
