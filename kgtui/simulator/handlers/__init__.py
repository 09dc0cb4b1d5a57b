"""The request handlers of a broker, one module per group of APIs. They use the cluster state, but no sockets."""
