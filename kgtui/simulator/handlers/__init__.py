"""The request handlers of a broker, one module per subject. They use the cluster state, but no sockets."""
