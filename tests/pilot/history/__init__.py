"""Tests of history: the History pane, recording, replay and the Insights screen."""
