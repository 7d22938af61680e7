"""Work that is done later: a small durable queue, and what runs it."""
