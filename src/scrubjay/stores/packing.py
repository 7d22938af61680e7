"""What every store does with bodies: unpacks each once, says which one is damaged, and knows when to learn anew."""

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import replace
from functools import lru_cache

from scrubjay.errors import BodyDamaged
from scrubjay.model.memory import Memory
from scrubjay.model.moment import from_micros
from scrubjay.model.snapshot import from_body
from scrubjay.model.version import Dossier, Version
from scrubjay.stores.codec import Dictionary, Encoded, decode

# A dictionary is learned from so many bodies at most; so many are packed anew in one transaction.
SAMPLES = 2000
BATCH = 500
# A first dictionary pays off early; after that one for every tenfold growth is enough.
_FIRST_TRAINING = 200
_GROWTH = 10
# Who is found often is unpacked once: so many bodies of at most so many bytes.
_UNPACKED = 2048
_SMALL = 8 * 1024


class Unpacking:
    """Bodies to memories; the small ones it unpacked last are kept."""

    def __init__(self) -> None:
        # By all of what is stored, so that a body that was changed on the disk is never taken for the one before.
        self._unpacked = lru_cache(maxsize=_UNPACKED)(_unpacked)

    def memory(
        self,
        encoded: Encoded,
        dictionary: Dictionary,
        *,
        memory_id: str,
        space: str,
        version: int,
        accessed: int | None = None,
        count: int = 0,
    ) -> Memory:
        """The memory that a stored body holds; raises BodyDamaged."""
        unpacked = self._unpacked if encoded.size <= _SMALL else _unpacked
        memory = unpacked(encoded, dictionary, memory_id, space, version)
        read = None if accessed is None else from_micros(accessed)
        # What a caller does to the one thing that can be changed is nobody else's matter.
        own = deepcopy(memory.metadata) if memory.metadata else memory.metadata
        return replace(memory, last_accessed=read, access_count=count, metadata=own)

    def forget(self) -> None:
        """Keep nothing of what was unpacked: some of it has been purged."""
        self._unpacked.cache_clear()


def is_training_due(bodies: int, trained_on: int | None) -> bool:
    """Whether a space of so many bodies has outgrown a dictionary that was learned from so many."""
    return bodies >= (_FIRST_TRAINING if trained_on is None else trained_on * _GROWTH)


def damaged_memory(
    error: BodyDamaged, *, memory_id: str, space: str, version: int, last_good: int | None
) -> BodyDamaged:
    """The error that names a damaged memory, and the way back."""
    return BodyDamaged(
        f"memory {memory_id} (version {version}): {error.message}",
        hint=f"Go back with `scrubjay revert {memory_id} --to {last_good}`"
        if last_good
        else "No older version is sound; restore it from a backup",
        memory_id=memory_id,
        space=space,
        version=version,
        last_good_version=last_good,
    )


def damaged_version(error: BodyDamaged, *, memory_id: str, version: int) -> BodyDamaged:
    """The error for one of several versions that were asked for."""
    return BodyDamaged(
        f"memory {memory_id} (version {version}): {error.message}",
        hint="Read the other versions one by one with `read --version`, or restore a backup",
        memory_id=memory_id,
        version=version,
    )


def dossier_of(
    versions: Sequence[Version], *, memory_id: str, current: int, accessed: int | None, count: int
) -> Dossier:
    """A memory with its past; raises BodyDamaged when the version that it is at is not there."""
    memory = next((version.memory for version in versions if version.number == current), None)
    if memory is None:
        raise BodyDamaged(
            f"memory {memory_id} (version {current}): it has no body", hint="Restore a backup", memory_id=memory_id
        )
    read = None if accessed is None else from_micros(accessed)
    return Dossier(memory=replace(memory, last_accessed=read, access_count=count), versions=tuple(versions))


def _unpacked(encoded: Encoded, dictionary: Dictionary, memory_id: str, space: str, version: int) -> Memory:
    body = decode(encoded, dictionary=dictionary)
    return from_body(body, memory_id=memory_id, space=space, version=version)
