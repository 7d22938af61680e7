"""The facade that every surface calls: one short method a verb, no logic of its own."""

from scrubjay.engine.customs import Customs
from scrubjay.engine.health import Health
from scrubjay.engine.house import Index, Workshop
from scrubjay.engine.knowledge import Knowledge
from scrubjay.engine.past import Past

__all__ = ["Engine", "Index", "Workshop"]


class Engine(Knowledge, Past, Customs, Health):
    """The memory itself."""

    __slots__ = ()
