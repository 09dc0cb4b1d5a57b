"""Connections to brokers: pool, negotiation, deadlines, backoff, coordinator and leader caches, logins.

May import `kgtui.protocol` and `kgtui.errors`. The only room that imports aiokafka, and there only `transport`.

Modules: `pool` is the way in; `link` is one lane to one broker; `bootstrap` finds the cluster from its seeds;
`coordinators` and `leaders` remember who answers for what; `transport` is the seam to aiokafka; `probe` looks at what
is on the other side of a port that does not talk; `security`, `jaas`, `tls` read Java client properties.
"""
