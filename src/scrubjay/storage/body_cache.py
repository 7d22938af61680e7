"""What every store does with bodies: unpacks each once, says which one is damaged, and knows when to learn anew."""

from collections.abc import Callable, Iterable, Sequence
from copy import deepcopy
from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple

from scrubjay.errors import BodyDamaged
from scrubjay.model.memory import Memory
from scrubjay.model.snapshot import from_body
from scrubjay.model.timestamps import from_micros
from scrubjay.model.version import MemoryHistory, Version
from scrubjay.storage.codec import Dictionary, Encoded, Encoding, difference, parse, unpack

# A dictionary is learned from so many bodies at most; so many are packed anew in one transaction.
SAMPLES = 2000
BATCH = 500
# A first dictionary pays off early; after that one for every tenfold growth is enough.
_FIRST_TRAINING = 200
_GROWTH = 10
# Who is found often is unpacked once: so many bodies of at most so many bytes.
_UNPACKED = 2048
_SMALL = 8 * 1024
# So many versions at the end of a line are stored whole: if the newest is damaged, the one before it can be read.
WHOLE_AT_THE_END = 2
# The same goes for every so manieth, so that no version is read by way of more than so many others.
_WHOLE_EVERY = 16

Dictionaries = Callable[[int], Dictionary]


class Kept(NamedTuple):
    """A version as it is stored, by its number."""

    number: int
    encoded: Encoded


class Unpacking:
    """Bodies to memories; the small ones it unpacked last are kept."""

    def __init__(self) -> None:
        # By all of what is stored, so that a body that was changed on the disk is never taken for the one before.
        self._unpacked = lru_cache(maxsize=_UNPACKED)(_unpacked)
        # The last body that was read, by its checksum.
        self._told: tuple[bytes, bytes] = (b"", b"")

    def memory(
        self,
        kept: Kept,
        *,
        dictionaries: Dictionaries,
        memory_id: str,
        space: str,
        newer: Iterable[Kept] = (),
        accessed: int | None = None,
        count: int = 0,
    ) -> Memory:
        """The memory that a stored body holds; raises BodyDamaged."""
        read = None if accessed is None else from_micros(accessed)
        if kept.encoded.encoding is Encoding.DELTA or kept.encoded.size > _SMALL:
            plain = self.plain(kept, dictionaries=dictionaries, newer=newer)
            return from_body(
                parse(plain), memory_id=memory_id, space=space, version=kept.number, last_accessed=read,
                access_count=count,
            )  # fmt: skip
        dictionary = dictionaries(kept.encoded.dictionary)
        memory = self._unpacked(kept.encoded, dictionary, memory_id, space, kept.number)
        if read is None and not count and not memory.metadata:
            return memory
        # What a caller does to the one thing that can be changed is nobody else's matter.
        own = deepcopy(memory.metadata) if memory.metadata else memory.metadata
        return replace(memory, last_accessed=read, access_count=count, metadata=own)

    def plain(self, kept: Kept, *, dictionaries: Dictionaries, newer: Iterable[Kept] = ()) -> bytes:
        """The plain bytes of a stored body, given the versions after it in their order; raises BodyDamaged.

        Newer ones are asked for only as far as it takes to come to one that is whole, or was told a moment ago.
        """
        digest, told = self._told
        plain, line = b"", [kept]
        if kept.encoded.encoding is Encoding.DELTA:
            for one in newer:
                if one.encoded.sha256 == digest:
                    plain = told
                    break
                line.append(one)
                if one.encoded.encoding is not Encoding.DELTA:
                    break
        for one in reversed(line):
            try:
                plain = unpack(one.encoded, dictionary=dictionaries(one.encoded.dictionary), newer=plain)
            except BodyDamaged as error:
                if one is kept:
                    raise
                raise BodyDamaged(
                    f"it is stored as what it differs in from version {one.number}, and of that {error.message}"
                ) from error
        # Whoever reads versions one after the other, newest first, unpacks each once.
        self._told = kept.encoded.sha256, plain
        return plain

    def forget(self) -> None:
        """Keep nothing of what was unpacked: some of it has been purged."""
        self._unpacked.cache_clear()
        self._told = (b"", b"")


def folded(line: Sequence[tuple[Kept, bytes | None]]) -> list[Encoded]:
    """What is to be stored of versions that follow each other, oldest first; damaged ones have no plain bytes.

    All but the last two, and but some in between, are told by what they differ in from the next.
    """
    found = [kept.encoded for kept, _ in line]
    for place, (kept, plain) in enumerate(line[:-WHOLE_AT_THE_END]):
        newer = line[place + 1][1]
        is_whole = kept.encoded.encoding in (Encoding.RAW, Encoding.ZSTD)
        if is_whole and kept.number % _WHOLE_EVERY and plain is not None and newer is not None:
            found[place] = difference(kept.encoded, plain, newer=newer)
    return found


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


def history_of(
    versions: Sequence[Version], *, memory_id: str, current: int, accessed: int | None, count: int
) -> MemoryHistory:
    """A memory with its past; raises BodyDamaged when the version that it is at is not there."""
    memory = next((version.memory for version in versions if version.number == current), None)
    if memory is None:
        raise BodyDamaged(
            f"memory {memory_id} (version {current}): it has no body", hint="Restore a backup", memory_id=memory_id
        )
    read = None if accessed is None else from_micros(accessed)
    return MemoryHistory(memory=replace(memory, last_accessed=read, access_count=count), versions=tuple(versions))


def _unpacked(encoded: Encoded, dictionary: Dictionary, memory_id: str, space: str, version: int) -> Memory:
    body = parse(unpack(encoded, dictionary=dictionary))
    return from_body(body, memory_id=memory_id, space=space, version=version)
