"""Delete groups, which is the only action of kgtui that changes a cluster.

The UI and the commands delete groups only through this package. It first backs up each group, and writes an audit log.

| module | contents |
|---|---|
| `plan` | plans a deletion: what each group would lose, or why its deletion is refused |
| `confirm` | the text that the user types to confirm a deletion |
| `execute` | executes a plan |
| `group_data` | reads the offsets and configs of groups, for deletion plans and backups |
| `backup` | writes and reads the backup of a group: a JSON-lines file, and a CSV file for Kafka's tools |
| `audit` | the audit log: intent and outcome of each deletion |
| `verification` | checks whether deleted groups still exist |
| `results` | the result of a deletion for each group |
| `synced_files` | writes files that only the user can read, and syncs them to disk |
"""
