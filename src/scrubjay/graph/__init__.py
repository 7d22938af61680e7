"""The knowledge-graph dialect: a space seen as entities, each a memory, and relations between them."""
