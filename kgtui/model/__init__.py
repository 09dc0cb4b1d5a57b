"""Immutable data classes for groups, offsets, members and clusters, and pure functions that compute with them.

This package may import only `kgtui.errors`, the standard library and, for the filter language, RE2. It knows nothing of
the Kafka protocol, of sockets or of the user interface. An unknown value is always `None`, never 0.

| module | contents |
|---|---|
| `group` | `Listing` and `GroupDescription`: a group as brokers list and describe it |
| `group_types` | the group types with their states, and the kinds of groups that users distinguish |
| `members` | members of groups: consumers, Connect workers, schema registry nodes, streams processes |
| `offsets` | committed offsets, log start and end offsets, and lag |
| `record_times` | when the records around a committed offset were written, and why that is not known |
| `cluster` | brokers, features, and retention of records and offsets |
| `answer` | `Answer` of a read with its `Fault`s, and `Outcome` of a write |
| `access` | `Access`: which groups and topics the user may see |
| `snapshot` | `Snapshot`: everything known about the groups of a cluster at one time; which groups have changed since |
| `summary` | `Summary`: the values of a group that the background sweep over all groups stores, with its member index |
| `trail` | `Trail`: the last reads of a group by the background sweep, compact enough for 100,000 groups |
| `member_names` | the shortest name of each member that distinguishes it, and the owners of partitions |
| `facts` | looks up members, lag and topics of a group in a snapshot |
| `fields` | the catalog of all values of groups, members and partitions that kgtui shows |
| `query` | the filter language of the terminal UI and the commands |
| `assignment` | current and target owners of partitions, pending moves, delaying members |
| `guard` | the delete guard: decides whether a group may be deleted |
| `burrow` | health verdicts on partitions and groups by the rules of LinkedIn's Burrow |
| `health` | health verdict, lag trend, time lag and data loss from polled offsets |
| `judgment` | `Judgment`: whether something is wrong with a group, since when, and what that is based on |
| `empty_reason` | why a group without members is judged, in words that fit a live cluster or a recording |
| `series` | ring buffers with lag, members and rates of watched groups, and the changes of their members |
| `timeline` | samples and changes of one group over an interval, for plots |
| `event` | events: what changed in a cluster and when; their kinds and texts, and the log of the newest events |
| `event_search` | finds events by comparing two reads of a group |
| `error_numbers` | numbers of Kafka's error codes to which kgtui reacts |
| `explanation` | explains faults, group states and unknown lag, and what to do |
| `diagnosis` | `Diagnosis`: what is wrong with a group, why, who is concerned, and what to do next |
| `absence` | finds out why no group matches a filter, and says why a group is not listed |
| `command_line` | command lines for Kafka's own tools |
| `marks` | the symbols that kgtui shows, for example for group states, and the color roles of states |
| `text` | escapes control characters, and removes secrets |
| `defaults` | default values that several packages share |
| `paths` | replaces `~` in paths that users write |
| `number_format` | byte and record counts as short texts, such as `4.2 MB` |
| `rfc3339` | times as RFC 3339 text, and back |
| `slices` | runs a long computation in short slices, so that the terminal UI handles keys in between |
"""
