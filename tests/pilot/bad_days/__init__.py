"""The screen on bad days, without a terminal: what several keys at once do, and rows that move under the eye."""
