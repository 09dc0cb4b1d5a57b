"""Actions that change a cluster: plan → check → back up → log the intent → send → verify → log the outcome.

The terminal UI and all commands use this package for every write.

| module | contents |
|---|---|
| `plan` | what a deletion would lose, whether it is safe, or why it is refused |
| `confirm` | the text that the user types to confirm a deletion |
| `execute` | executes a plan: back up, log the intent, describe again, send DeleteGroups, verify, log the outcome |
| `group_data` | reads the offsets and configs of a group |
| `backup` | writes and reads the backup of a group: JSON lines, and CSV for Kafka's tools |
| `audit` | the audit log: intent and outcome of each action |
| `verification` | checks after a deletion whether the groups still exist |
| `results` | the result of a deletion for each group |
| `synced_files` | writes private files, and syncs them to disk |
"""
