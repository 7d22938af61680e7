"""Vector indexes: an embedded Qdrant shard, a Qdrant server, pgvector, and an exact scan that needs no index."""
