"""Connections to the brokers of a Kafka cluster.

This package may import `kgtui.protocol`, `kgtui.model.error_numbers` and `kgtui.errors`. Only `transport` imports
aiokafka.

| module | contents |
|---|---|
| `pool` | `Pool`, which sends requests to brokers and uses all other modules of this package |
| `options` | timeouts and limits of a pool, and the two connections ("lanes") to each broker |
| `link` | manages one connection to one broker, and replaces it when it breaks |
| `backoff` | computes how long to wait after failures, and when a broker throttles kgtui |
| `session` | an open connection to a broker, with its negotiated API versions |
| `bootstrap` | finds the brokers of the cluster through the bootstrap servers |
| `lookups` | finds the coordinators of groups and the leaders of partitions |
| `transport` | connects to a broker through aiokafka |
| `exchange` | wraps encoded requests in objects that aiokafka's connection can send |
| `login` | logs in to a broker with SASL, and repeats the login before the SASL session expires |
| `mechanisms` | the messages of each SASL mechanism, such as PLAIN and SCRAM |
| `oauth` | the settings of OAUTHBEARER, read from Java client properties |
| `tokens` | gets the tokens of OAUTHBEARER and refreshes them |
| `assertion` | creates the signed assertions that a token endpoint accepts instead of a client secret |
| `msk_iam` | signs tokens for Amazon MSK with AWS credentials |
| `claims` | reads the claims of a JSON Web Token, and gives advice about wrong clocks |
| `token_endpoint` | requests a token from an identity provider, within a time limit |
| `kerberos` | the settings of GSSAPI (Kerberos), read from Java client properties |
| `tickets` | gets and renews Kerberos tickets, and creates the messages of GSSAPI logins |
| `kerberos_errors` | explains why a login with Kerberos failed, and what to do |
| `address` | parses broker addresses, and resolves host names |
| `connect_errors` | explains why a connection failed, and what to do |
| `login_steps` | finds out at which step connecting to a broker fails |
| `client_settings` | `ClientSettings`: login, TLS and timeouts, read from Java client properties |
| `properties` | checks which Java client properties are supported, and parses `sasl.jaas.config` |
| `tls` | the `ssl.*` properties: certificates and keys in PEM, and stores in PKCS#12 |
| `secret` | masks passwords and keys in logs, tracebacks and messages |
| `concurrency` | runs coroutines at the same time, and blocking functions in a daemon thread |
| `lazy_import` | lets `transport` import one module of aiokafka without the other, slow modules of the package |
"""
