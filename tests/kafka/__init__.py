"""Java programs that run brokers, tools and group members for the tests, and a downloader of Kafka's jars."""
