"""Delete groups, the only action that changes a cluster.

Every write of the UI and of the commands goes through this package. It writes a backup and an audit log.

| module | contents |
|---|---|
| `plan` | plans a deletion: what each group would lose, or why its deletion is refused |
| `confirm` | the text that the user types to confirm a deletion |
| `execute` | executes a plan |
| `group_data` | reads the offsets and configs of a group |
| `backup` | writes and reads the backup of a group: JSON lines, and CSV for Kafka's tools |
| `audit` | the audit log: intent and outcome of each deletion |
| `verification` | checks whether deleted groups still exist |
| `results` | the result of a deletion for each group |
| `synced_files` | writes files that only the user can read, and syncs them to disk |
"""
