"""Connections to the brokers of a Kafka cluster.

This package may import `kgtui.protocol`, `kgtui.model`, `kgtui.errors` and `kgtui.private_files`. Only `transport`
imports aiokafka.

| module | contents |
|---|---|
| `pool` | `Pool`, which sends requests to the brokers of a cluster |
| `options` | timeouts and limits of a `Pool`, and the two connections ("lanes") to each broker |
| `link` | keeps connections to brokers open, and replaces a connection that breaks |
| `backoff` | pauses after failures, and when a broker throttles kgtui |
| `session` | an open connection to a broker, with its negotiated API versions |
| `bootstrap` | finds the brokers through the bootstrap servers |
| `lookups` | finds the coordinators of groups and the leaders of partitions |
| `transport` | connects to a broker through aiokafka |
| `exchange` | wraps encoded requests in objects that aiokafka can send |
| `login` | logs in with SASL, and repeats the login before the SASL session expires |
| `mechanisms` | the messages of each SASL mechanism, such as PLAIN and SCRAM |
| `oauth` | settings of OAUTHBEARER |
| `tokens` | gets and refreshes the tokens of OAUTHBEARER |
| `assertion` | creates signed assertions, which prove the identity of kgtui to an identity provider |
| `msk_iam` | signs tokens for Amazon MSK with AWS credentials |
| `claims` | reads the claims of a JSON Web Token |
| `token_endpoint` | requests a token from an identity provider |
| `kerberos` | settings of GSSAPI (Kerberos) |
| `tickets` | gets and renews Kerberos tickets |
| `kerberos_errors` | explains why a login with Kerberos failed, and what to do |
| `address` | parses broker addresses, and resolves host names |
| `connect_errors` | explains why a connection failed, and what to do |
| `login_steps` | finds out which step fails when kgtui connects to a broker and logs in |
| `client_settings` | `ClientSettings`: login, TLS and timeouts from Java client properties |
| `properties` | checks Java client properties, and parses `sasl.jaas.config` |
| `tls` | certificates and keys from the `ssl.*` properties |
| `secret` | masks passwords and keys in logs, tracebacks and messages |
| `concurrency` | runs coroutines at the same time, and blocking functions in a thread |
| `lazy_import` | imports `aiokafka.conn` without the slow modules that aiokafka usually imports with it |
"""
