"""The knowledge-graph dialect: a space as entities, each of which is a memory, and relations between them."""
