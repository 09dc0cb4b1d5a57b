"""Functions from DataFrames to DataFrames that compute the silver and gold tables. They do not access the lake.

| module | contents |
|---|---|
| `offset_commits` | decodes regular offset commits (nearly all records) with Spark expressions only |
| `record_decoding` | decodes all other records with Python; defines the columns of decoded records |
| `group_events` | silver `group_events`: one row per record that is not an offset commit |
| `rebalances` | silver `rebalances`, from the records that each rebalance leaves |
| `recorded_state` | state of groups and partitions at any poll of a recording |
| `lag` | gold `lag`: lag, rates and time lag of partitions and groups per minute |
| `observed_windows` | the newest commits in each partition, as observed by polls |
| `commit_windows` | the newest commits in each partition, from polls or silver `commits`; input for `health` |
| `health_state` | gold `health_state`: state with which `health` is updated without reading old polls and commits |
| `health` | gold `health`: status of groups and partitions by Burrow's rules, every five minutes |
| `problem_times` | when problems in gold `health` and backlogs began and ended |
| `churn` | gold `churn`: rebalances per group and hour |
| `forecast` | gold `forecast`: when groups catch up or lose records |
| `baseline` | gold `baseline`: lag and rates compared with earlier weeks or days |
| `cleanup` | gold `cleanup`: unused groups and group families |
"""
