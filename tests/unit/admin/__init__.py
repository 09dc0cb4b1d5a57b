"""What is asked of brokers, against brokers that are functions."""
