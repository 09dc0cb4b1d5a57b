"""Functions that compute the silver and gold tables from DataFrames, and do not access the lake.

Terms in all modules of this package:

- poll: kgtui reads the state of all groups in a cluster. A recording contains many polls.
- gap: time for which a recording lacks polls, for example because the recorder was stopped
- keyframe: poll for which the recorder wrote all rows. For other polls, it wrote only changed rows.
- time slot: time that one row of a gold table covers, such as a minute or an hour
- position: committed offset of a group in a partition or, in a share group, the share-partition
  start offset
- time lag: age of the first record in a partition that a group has not read
- commit window: newest commits of a group in one partition, from which its health is computed
- carried state: results that an earlier run of the pipeline saved, and that replace older rows

| module | contents |
|---|---|
| `offset_commits` | decodes nearly all offset commits with Spark expressions |
| `record_decoding` | decodes all other records with Python |
| `group_events` | the silver table `group_events`: decoded records about groups and members |
| `rebalances` | the silver table `rebalances`: one row per rebalance of a group |
| `recorded_state` | gaps and keyframes of a recording, and the state of all groups at any poll |
| `lag` | the gold table `lag`: lag, rates and time lag per minute |
| `observed_windows` | commit windows from polls |
| `commit_windows` | commit windows from polls or from the silver table `commits` |
| `health_state` | the gold table `health_state`: state from which `health` is updated |
| `health` | the gold table `health`: status by Burrow's rules, every five minutes |
| `problem_times` | when problems and backlogs began and ended |
| `churn` | the gold table `churn`: rebalances per group and hour |
| `forecast` | the gold table `forecast`: when groups catch up or lose records |
| `baseline` | the gold table `baseline`: comparison with earlier weeks or days |
| `cleanup` | the gold table `cleanup`: unused groups and group families |
"""
