"""Compare `kgtui.protocol` with Kafka's own classes and schemas, and with the Python packages kio and kafka-python."""
