"""Actions that change a cluster: plan → check → back up → log the intent → send → verify → log the outcome.

The terminal UI and all commands use this package for every write. Each write therefore has a plan, a check just before
the request, a backup, and two lines in the audit log. The package imports the interface of `kgtui.admin`, the model and
the errors.

| module | contents |
|---|---|
| `plan` | what a deletion of groups would lose, whether it is safe, or why it is refused |
| `confirm` | the text that the user types to confirm a deletion |
| `execute` | executes a plan: backup, intent, another describe, DeleteGroups, verification, outcome |
| `group_data` | reads the offsets and configs of a group that a deletion removes |
| `backup` | writes and reads the backup of a group: JSON lines, and CSV for Kafka's tools |
| `audit` | the audit log: JSON lines with the intent and the outcome of each action |
| `verification` | checks after a deletion whether the groups still exist |
| `results` | the result of a deletion for each group |
| `synced_files` | writes files that only their owner can read, and syncs them to disk |
"""
