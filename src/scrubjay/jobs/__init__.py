"""Background work: a small durable queue and its runner."""
