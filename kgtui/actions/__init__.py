"""What changes a cluster: plan → check → back up → log the intent → send → verify → log the outcome.

Imports the admin's interface, model and errors. The UI and every command act through this room, so that no write
reaches a broker without a plan, a fresh check, a backup and two lines in the audit log.
"""
