"""How fast and how big Scrubjay is, measured through the product itself; `make bench` runs it."""
