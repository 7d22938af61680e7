"""The engine, which every surface calls."""

from scrubjay.engine.dependencies import EngineIndex, JobRunner, PlainFile
from scrubjay.engine.engine import Engine

__all__ = ["Engine", "EngineIndex", "JobRunner", "PlainFile"]
