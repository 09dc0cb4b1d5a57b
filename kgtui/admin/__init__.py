"""What one can ask of groups: the `GroupAdmin` interface and its Kafka implementation; the public async API.

Imports client, protocol and model. Nothing above this room knows bytes.
"""
