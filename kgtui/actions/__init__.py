"""Actions that change a cluster: plan → check → back up → log the intent → send → verify → log the outcome.

The screen and all commands use this package for every write. No write therefore reaches a broker without a plan, a
fresh check, a backup and two lines in the audit log. The package imports the interface of `kgtui.admin`, the model and
the errors.
"""
