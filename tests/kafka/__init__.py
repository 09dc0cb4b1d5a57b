"""A downloader of Kafka's jars for the tests, and Java programs that run brokers, tools and members of groups."""
