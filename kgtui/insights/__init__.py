"""Find problems of groups in the gold tables of a lake, and report them as HTML.

A lake is a folder with the recording of a cluster. kgtui's Spark pipeline computes the lake's gold tables. Each rule
reads one gold table and returns findings. A finding says what the problem is, which rows prove it, and what to do next.

| module | contents |
|---|---|
| `finding` | data classes of findings; the kinds of findings in order of urgency |
| `rules` | one function per kind of finding |
| `past_problems` | finds the episodes (time spans in which a group was unhealthy), and reports past problems |
| `flapping` | the rule about flapping groups (groups that rebalance unusually often) |
| `apply_rules` | the list of rules, and the gold rows that they read |
| `report` | the HTML report: findings, episodes and plots (page: `templates/report.html.j2`) |
| `report_plots` | the plots of the report, as SVG |

From kgtui, the package imports only `lake`, `model` and `errors`.
"""
