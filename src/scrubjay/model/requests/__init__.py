"""The requests: one class for each verb, which declares its arguments for every surface."""

from scrubjay.model.requests import code, curation, knowledge, memories, notes, skills, space, versions
from scrubjay.model.requests.code import *  # noqa: F403
from scrubjay.model.requests.curation import *  # noqa: F403
from scrubjay.model.requests.knowledge import *  # noqa: F403
from scrubjay.model.requests.memories import *  # noqa: F403
from scrubjay.model.requests.notes import *  # noqa: F403
from scrubjay.model.requests.skills import *  # noqa: F403
from scrubjay.model.requests.space import *  # noqa: F403
from scrubjay.model.requests.versions import *  # noqa: F403

__all__: list[str] = []
__all__ += code.__all__
__all__ += curation.__all__
__all__ += knowledge.__all__
__all__ += memories.__all__
__all__ += notes.__all__
__all__ += skills.__all__
__all__ += space.__all__
__all__ += versions.__all__
