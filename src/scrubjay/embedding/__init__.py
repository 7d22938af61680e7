"""Embedding models: the bundled model, models in folders, packages and services, and the batching in front of them."""
