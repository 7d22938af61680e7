"""Keeps the vector index in step with the store: follows the change log, builds generations, recovers from damage."""
