"""The facade that every surface calls: one short method a verb, no logic of its own."""

from scrubjay.engine.dependencies import EngineIndex, JobRunner
from scrubjay.engine.health import Health
from scrubjay.engine.knowledge import Knowledge
from scrubjay.engine.space_admin import SpaceAdmin
from scrubjay.engine.versions import Versions

__all__ = ["Engine", "EngineIndex", "JobRunner"]


class Engine(Knowledge, Versions, SpaceAdmin, Health):
    """The memory itself."""

    __slots__ = ()
