"""Clients for Python programs."""

from scrubjay.client.client import MemoryClient

__all__ = ["MemoryClient"]
