"""What the view `memory_items` shows of a memory: its words in clear, as far as PostgreSQL can write them."""

import math
from collections.abc import Mapping

from scrubjay.model.memory import Json, Memory


def shown_text(memory: Memory) -> str:
    """The content, or what was observed where there is none."""
    return _plain(memory.content or "\n".join(observation.text for observation in memory.observations))


def shown_metadata(memory: Memory) -> dict[str, Json]:
    """The metadata."""
    return {_plain(key): _shown(value) for key, value in memory.metadata.items()}


def _shown(value: Json) -> Json:
    if isinstance(value, str):
        return _plain(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, list):
        return [_shown(one) for one in value]
    if isinstance(value, Mapping):
        return {_plain(key): _shown(one) for key, one in value.items()}
    return value


def _plain(text: str) -> str:
    # Neither of these can be written there; the body, which is the truth, has them.
    return text.encode("utf-8", "replace").decode().replace("\x00", "\ufffd")
