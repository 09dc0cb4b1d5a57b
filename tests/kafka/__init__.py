"""What the tests need of Kafka itself: fetching its jars, and Java clients that keep groups alive."""
