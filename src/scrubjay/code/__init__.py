"""Programs of agents: Python that runs in worker processes beside the memory, and calls its verbs."""

from scrubjay.code.runner import CodeRunner

__all__ = ["CodeRunner"]
