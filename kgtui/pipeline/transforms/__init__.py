"""Functions that compute the silver and gold tables. They take and return DataFrames, and do not access the lake.

| module | contents |
|---|---|
| `offset_commits` | decodes nearly all offset commits with Spark expressions |
| `record_decoding` | decodes all other records with Python |
| `group_events` | the silver table `group_events`: one row per record that is not an offset commit |
| `rebalances` | the silver table `rebalances`: one row per rebalance of a group |
| `recorded_state` | state of groups and partitions at any poll of a recording |
| `lag` | the gold table `lag`: lag, rates and time lag per minute |
| `observed_windows` | newest commits in each partition, as observed by polls |
| `commit_windows` | newest commits in each partition, from polls or silver `commits` |
| `health_state` | the gold table `health_state`: saved state, so that an update of `health` reads only newer rows |
| `health` | the gold table `health`: status by Burrow's rules, every five minutes |
| `problem_times` | when problems and backlogs began and ended |
| `churn` | the gold table `churn`: rebalances per group and hour |
| `forecast` | the gold table `forecast`: when groups catch up or lose records |
| `baseline` | the gold table `baseline`: comparison with earlier weeks or days |
| `cleanup` | the gold table `cleanup`: unused groups and group families |
"""
