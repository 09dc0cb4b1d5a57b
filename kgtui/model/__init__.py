"""Immutable data classes for groups, offsets, members and clusters, and pure functions on them.

The package imports only `kgtui.errors`, the standard library and RE2 (regular expressions). An unknown value is None,
never 0.

| module | contents |
|---|---|
| `group` | `Listing`: what ListGroups returns for a group; `GroupDescription`: the description of a group |
| `group_types` | group types, their states, and the kinds of groups, such as `connect` for some classic groups |
| `members` | group members: consumers, Connect workers, schema registry nodes, Streams threads |
| `offsets` | committed offsets, log start and end offsets, and lag |
| `record_times` | the times at which the records directly before and after a committed offset were written |
| `cluster` | brokers, features, and retention of records and offsets |
| `answer` | `Answer`: the result of a read from Kafka, with its errors (`Fault`); `Outcome`: the result of a write |
| `access` | `Access`: the permissions that decide which groups and topics the user can see |
| `snapshot` | `Snapshot`: all data about a cluster at one time |
| `summary` | `Summary`: the values that the sweep (kgtui's background read of all groups) stores for each group |
| `trail` | `Trail`: the results of the last few background reads of a group, in few bytes |
| `encoded_trail` | binary form of a `Trail`, and functions that read only parts of it |
| `member_names` | short unique names of members, and the owners of partitions |
| `facts` | looks up members, lag and topics of a group in a snapshot |
| `fields` | the catalog of all values that kgtui shows |
| `query` | the filter language of the terminal UI and the commands |
| `assignment` | current and target owners of partitions, and the members that delay a rebalance |
| `guard` | decides whether kgtui is allowed to delete a group |
| `burrow` | health verdicts by the rules of Burrow, LinkedIn's lag checker |
| `health` | computes verdict, lag trend, data loss and age of unread records of a group from its polled offsets |
| `problem` | `Problem`: the problems that a group can have, with their texts and limits; statuses of groups |
| `judgment` | `Judgment`: whether something is wrong with a group, and since when |
| `empty_reason` | texts that say why a group without members has a problem |
| `series` | ring buffers with lag, member count and rates of each group that kgtui reads at every poll |
| `timeline` | lag, member count, rates and changes of one group over an interval, for plots |
| `event` | events, their kinds and texts, and the log of the newest events |
| `event_search` | finds events by comparing two reads of a group |
| `error_numbers` | numbers of Kafka's error codes to which kgtui reacts |
| `explanation` | explains errors, group states and unknown lag, and says what to do |
| `diagnosis` | `Diagnosis`: what is wrong with a group, why, and what to do next |
| `absence` | why no group matches a filter, or why a group is not listed |
| `command_line` | command lines for Kafka's own tools |
| `marks` | symbols of the terminal UI, and the colors of group states and verdicts |
| `text` | escapes control characters, and removes secrets |
| `defaults` | default values that several packages share |
| `paths` | replaces `~` in paths that users write |
| `number_format` | byte and record counts as short texts, such as `4.2 MB` |
| `rfc3339` | converts times to RFC 3339 text, and back |
| `slices` | runs a long computation in short slices, so that other tasks can run in between |
"""
