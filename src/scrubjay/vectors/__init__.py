"""Vector indexes: an embedded Qdrant shard, and an exact scan that needs no index at all."""
