"""A downloader of Kafka's jars for the tests, and Java programs that are members of groups."""
