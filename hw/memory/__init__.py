"""RAM and queues."""
