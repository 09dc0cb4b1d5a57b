"""Actions that change a cluster: the deletion of groups.

The steps of a deletion are: plan, back up, log the intent, check the group again, send the request, verify, log the
outcome. The terminal UI and all commands send every write to the cluster through this package.

| module | contents |
|---|---|
| `plan` | the plan of a deletion: for each group, what would be lost and whether that is safe, or why it is refused |
| `confirm` | the text that the user types to confirm a deletion |
| `execute` | executes a plan: performs all further steps of the deletion |
| `group_data` | reads the offsets and configs of a group |
| `backup` | writes and reads the backup of a group: JSON lines, and CSV for Kafka's tools |
| `audit` | the audit log: intent and outcome of each action |
| `verification` | checks whether groups still exist after their deletion |
| `results` | the result of a deletion for each group |
| `synced_files` | writes files that only the user can read, and syncs them to disk |
"""
