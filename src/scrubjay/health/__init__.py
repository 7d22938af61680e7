"""The health of a memory: figures of its spaces by day, and alerts about them."""
