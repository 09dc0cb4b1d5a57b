"""What a broker answers: one module for each family of APIs. Knows bytes and the world, no sockets."""
