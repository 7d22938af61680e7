"""Keeps the vector index in step with the store: follows the log, builds generations, heals."""
