"""The pipeline on a real Spark: one session for the whole run, in one worker."""
