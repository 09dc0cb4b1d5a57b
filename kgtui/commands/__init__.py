"""The command line: one module per command, and modules that several commands use.

The module of a command has these functions. (`kafka_groups` has a function `main` instead.)

- `configure(parser)` adds the options.
- `run(args)` runs the command and returns the exit code.
- `epilog()`, which is optional, returns the text that `--help` prints below the options.

This package is allowed to import every other package of kgtui. Most imports are inside functions, so that, for example,
`kgtui ls` does not load the terminal UI.

| module | contents |
|---|---|
| `parser` | the list of all commands, and the parser of the command line |
| `ui` | `kgtui` without a command: the terminal UI on a cluster |
| `demo` | `kgtui demo`: the terminal UI on a simulated cluster |
| `replay` | `kgtui replay`: the terminal UI on a recording |
| `sessions` | opens clusters and recordings in the terminal UI |
| `ls` | `kgtui ls`: the groups that match a filter |
| `show` | `kgtui show`: everything about one or more groups |
| `check` | `kgtui check`: health verdicts, live or from a recording |
| `events` | `kgtui events`: changes in groups and brokers, live or from a recording |
| `list_watch` | reads groups repeatedly for `kgtui ls --watch`, and finds their problems |
| `unused_groups` | finds unused groups for `kgtui ls` |
| `group_watch` | reads groups repeatedly for `kgtui check` |
| `delete` | `kgtui delete`: plan, confirmation, deletion and results |
| `audit` | `kgtui audit`: the audit log |
| `backups` | `kgtui backups`: the backups that were made before deletions |
| `kafka_groups` | `kgtui groups`: options and output of `kafka-groups.sh` |
| `kafka_options` | parses the options of a Kafka script, and formats the help text about them |
| `doctor` | `kgtui doctor`: what each broker supports, and the user's permissions |
| `clusters` | `kgtui clusters`: the configured clusters |
| `record` | `kgtui record`: records all groups into a lake (a folder of Delta tables) |
| `lake` | `kgtui lake`: table sizes, compaction, deletion of old days |
| `pipeline` | `kgtui pipeline run` and `watch`: compute the silver and gold tables of a lake with Spark |
| `pipeline_demo` | `kgtui pipeline demo`: simulated history, pipeline and findings |
| `pipeline_submit` | prints the `spark-submit` command for YARN and Kubernetes |
| `insights` | `kgtui insights`: the findings of a lake |
| `report` | `kgtui report`: the findings and plots of a lake as one HTML page |
| `connecting` | connects to the cluster that the options name, or opens the recording that they name |
| `selection` | selects groups by a filter, and reads the data that the filter needs |
| `visibility` | messages about groups and offsets that may be hidden, because the user lacks permissions |
| `time_options` | parses durations and times in options, such as `15m` and `10:04` |
| `printing` | prints results on stdout, and messages and progress on stderr |
| `log_file` | the log of kgtui, a private file without secrets |
"""
