"""The protocol room, held against Kafka's own classes, its schemas and two other codecs."""
