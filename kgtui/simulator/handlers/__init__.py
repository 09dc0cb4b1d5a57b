"""The request handlers of a broker, one module per topic of the APIs. They use the cluster state, but no sockets."""
