"""Find problems of groups in the gold tables of a lake, and report them as HTML.

A lake is a folder with the tables that kgtui recorded. Its gold tables are computed by the Spark pipeline. Each rule
reads rows of one gold table and returns findings: what is wrong, the rows that show it, and what to do next. This
package imports only `lake` and `model`.

| module | contents |
|---|---|
| `finding` | data classes of findings; the kinds of findings in order of urgency |
| `rules` | one function per kind of finding |
| `past_problems` | the time spans in which groups were unhealthy, and findings about past problems |
| `apply_rules` | the list of rules, the gold rows that they read, and the rule about flapping groups |
| `report` | the HTML report: findings, episodes and plots (page: `templates/report.html.j2`) |
| `report_plots` | the plots of the report, as SVG |
"""
