"""Stored versions to memories, the same in every store: decompressed once, chained as deltas, reported if damaged."""

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from copy import deepcopy
from dataclasses import fields, replace
from datetime import datetime
from functools import lru_cache
from itertools import pairwise
from operator import attrgetter
from pathlib import Path
from typing import NamedTuple, cast

from scrubjay.errors import BodyDamaged
from scrubjay.model.change import Action
from scrubjay.model.memory import Memory
from scrubjay.model.relation import Relation
from scrubjay.model.snapshot import from_body
from scrubjay.model.timestamps import from_micros, to_micros
from scrubjay.model.version import MemoryHistory, Version
from scrubjay.ports import DamagedBody
from scrubjay.storage.codec import Dictionary, Encoded, Encoding, encode_delta, parse_values, unpack
from scrubjay.storage.rows import id_bytes, id_text, relation_from_text

# The most bodies that a dictionary is trained on, and that one transaction repacks.
SAMPLES = 2000
BATCH = 500
# A first dictionary pays off early; after that one for every tenfold growth is enough.
_FIRST_TRAINING = 200
_GROWTH = 10
# The most bodies in the cache, and the most bytes that one of them may have.
_CACHED_BODIES = 2048
_CACHED_BODY_BYTES = 8 * 1024
# The most memories that are kept as they were written: the next writes compare themselves with them.
_KEPT_WRITTEN = 4_096
# The newest versions are stored whole: if the newest is damaged, the one before it can still be read.
WHOLE_VERSIONS = 2
# Every sixteenth version is stored whole too, so that no version depends on more than fifteen others.
_WHOLE_EVERY = 16

_FIELDS = tuple(field.name for field in fields(Memory))
_values_of = attrgetter(*_FIELDS)

Dictionaries = Callable[[int], Dictionary]
LoggedRelation = tuple[str, int, str]
"""The action, the time and the relation of an entry in the change log."""


class StoredVersion(NamedTuple):
    """The number of a version, and its body as it is stored."""

    number: int
    encoded: Encoded


class BodyCache:
    """Decompresses bodies to memories, and caches the small ones that were read last."""

    def __init__(self) -> None:
        # The stored bytes are part of the key, so that a body that has changed on disk is never read from the cache.
        self._read_small = lru_cache(maxsize=_CACHED_BODIES)(self._read_written_or_small)
        self._written: dict[tuple[Encoded, str, str, int], Memory] = {}
        # The checksum and the plain bytes of the last body that was read.
        self._last: tuple[bytes, bytes] = (b"", b"")

    def read_memory(
        self,
        version: StoredVersion,
        *,
        dictionaries: Dictionaries,
        memory_id: str,
        space: str,
        newer: Iterable[StoredVersion] = (),
        accessed: int | None = None,
        count: int = 0,
    ) -> Memory:
        """Return the memory of a stored version; raises BodyDamaged."""
        encoded = version.encoded
        if encoded.encoding is Encoding.DELTA or encoded.size > _CACHED_BODY_BYTES:
            plain = self.decompress(version, dictionaries=dictionaries, newer=newer)
            return from_body(
                parse_values(plain), memory_id=memory_id, space=space, version=version.number,
                last_accessed=None if accessed is None else from_micros(accessed), access_count=count,
            )  # fmt: skip
        memory = self._read_small(encoded, dictionaries(encoded.dictionary), memory_id, space, version.number)
        if accessed is None and not count and not memory.metadata:
            return memory
        return with_accesses(memory, accessed, count)

    def keep_written(self, version: Version, encoded: Encoded, *, memory_id: str) -> None:
        """Keep the memory of a version that is being written, so that its next reader need not decompress it."""
        memory = version.memory
        # What a body does not keep to the letter is read from it.
        has_parts = memory.metadata or memory.observations or memory.merged
        is_whole = not (has_parts or memory.last_accessed or memory.access_count)
        is_same = memory.id == memory_id and memory.version == version.number
        if is_whole and is_same and encoded.size <= _CACHED_BODY_BYTES:
            self._written[encoded, memory_id, memory.space, memory.version] = memory
        while len(self._written) > _KEPT_WRITTEN:
            # Another thread may write at the same time.
            with suppress(RuntimeError, StopIteration):
                self._written.pop(next(iter(self._written)), None)

    def decompress(
        self, version: StoredVersion, *, dictionaries: Dictionaries, newer: Iterable[StoredVersion] = ()
    ) -> bytes:
        """Return the plain bytes of a stored version, given the versions after it in order; raises BodyDamaged.

        `newer` is read only up to the first version that is whole or was decompressed last.
        """
        last_checksum, last_plain = self._last
        plain, chain = b"", [version]
        if version.encoded.encoding is Encoding.DELTA:
            for newer_version in newer:
                if newer_version.encoded.sha256 == last_checksum:
                    plain = last_plain
                    break
                chain.append(newer_version)
                if newer_version.encoded.encoding is not Encoding.DELTA:
                    break
        for link in reversed(chain):
            try:
                plain = unpack(link.encoded, dictionary=dictionaries(link.encoded.dictionary), newer=plain)
            except BodyDamaged as error:
                if link is version:
                    raise
                raise BodyDamaged(
                    f"it is stored as a difference from version {link.number}, of which {error.message}"
                ) from error
        # Versions are mostly read newest first: so each is decompressed once.
        self._last = version.encoded.sha256, plain
        return plain

    def clear(self) -> None:
        """Empty the cache, after a purge of some of the bodies."""
        self._read_small.cache_clear()
        self._written.clear()
        self._last = (b"", b"")

    def _read_written_or_small(
        self, encoded: Encoded, dictionary: Dictionary, memory_id: str, space: str, version: int
    ) -> Memory:
        written = self._written.pop((encoded, memory_id, space, version), None)
        if written is not None:
            return written
        values = parse_values(unpack(encoded, dictionary=dictionary))
        return from_body(values, memory_id=memory_id, space=space, version=version)


def extend_chain(
    stored: Sequence[StoredVersion], new: Sequence[StoredVersion], *, plain: Callable[[StoredVersion], bytes | None]
) -> list[Encoded]:
    """Return how to store the last stored versions of a memory and those that follow them."""
    chain = [*stored, *new]
    if len(chain) <= WHOLE_VERSIONS or any(version.number >= newer.number for version, newer in pairwise(chain)):
        return [version.encoded for version in chain]
    return encode_deltas([*((version, plain(version)) for version in chain[:-1]), (chain[-1], None)])


def encode_deltas(chain: Sequence[tuple[StoredVersion, bytes | None]]) -> list[Encoded]:
    """Return how to store consecutive versions, given oldest first with their plain bytes (None for damaged ones).

    Each becomes a difference from the next one, except the newest two and every sixteenth.
    """
    encoded = [version.encoded for version, _ in chain]
    for position, (version, plain) in enumerate(chain[:-WHOLE_VERSIONS]):
        newer = chain[position + 1][1]
        is_whole = version.encoded.encoding in (Encoding.RAW, Encoding.ZSTD)
        if is_whole and version.number % _WHOLE_EVERY and plain is not None and newer is not None:
            encoded[position] = encode_delta(version.encoded, plain, newer=newer)
    return encoded


def is_training_due(bodies: int, trained_on: int | None) -> bool:
    """Return whether a space with so many bodies has outgrown a dictionary that was trained on so many."""
    return bodies >= (_FIRST_TRAINING if trained_on is None else trained_on * _GROWTH)


def with_accesses(memory: Memory, accessed: int | None, count: int) -> Memory:
    """Return a copy of a memory that was accessed so many times, the last time at a moment in microseconds."""
    values = dict(zip(_FIELDS, _values_of(memory), strict=True))
    values["last_accessed"] = None if accessed is None else from_micros(accessed)
    values["access_count"] = count
    # A caller may change the metadata: that must not change the memory that is kept.
    values["metadata"] = deepcopy(memory.metadata) if memory.metadata else memory.metadata
    # With `replace` it would take longer.
    return cast("Callable[..., Memory]", Memory)(**values)


def damaged_memory(
    error: BodyDamaged, *, memory_id: str, space: str, version: int, last_good: int | None
) -> BodyDamaged:
    """Return the error for a memory whose current version is damaged, with the way back."""
    return BodyDamaged(
        f"memory {memory_id} (version {version}): {error.message}",
        hint=f"Go back with `scrubjay revert {memory_id} --to {last_good}`"
        if last_good
        else "No older version is intact; restore the memory from a backup, or `forget` it",
        memory_id=memory_id,
        space=space,
        version=version,
        last_good_version=last_good,
    )


def damaged_version(error: BodyDamaged, *, memory_id: str, version: int) -> BodyDamaged:
    """Return the error for a damaged version among several."""
    return BodyDamaged(
        f"memory {memory_id} (version {version}): {error.message}",
        hint="Read the other versions one by one with `read --version`, or restore a backup",
        memory_id=memory_id,
        version=version,
    )


def damaged_backup(target: Path, damaged: Sequence[DamagedBody]) -> BodyDamaged:
    """Return the error for a backup that has damaged bodies, as the store has them."""
    more = f", and {len(damaged) - 1:,} more" if len(damaged) > 1 else ""
    return BodyDamaged(
        f"backed up to {target}, but the store has damaged bodies, and so has the backup: {damaged[0]}{more}",
        hint="`scrubjay doctor --deep` lists them; an older backup may have them whole",
        path=str(target),
        memory_id=damaged[0].memory_id,
        damaged=len(damaged),
    )


def history_of(
    versions: Sequence[Version], *, memory_id: str, current: int, accessed: int | None, count: int
) -> MemoryHistory:
    """Return a memory with its versions; raises BodyDamaged if its current version is missing."""
    memory = next((version.memory for version in versions if version.number == current), None)
    if memory is None:
        raise BodyDamaged(
            f"memory {memory_id} (version {current}): it has no body", hint="Restore a backup", memory_id=memory_id
        )
    last_accessed = None if accessed is None else from_micros(accessed)
    return MemoryHistory(
        memory=replace(memory, last_accessed=last_accessed, access_count=count), versions=tuple(versions)
    )


def replay_relations(current: Iterable[Relation], logged: Sequence[LoggedRelation], *, at: datetime) -> list[Relation]:
    """Return the relations of an earlier moment, from those of now and the entries of the log in order."""
    moment = to_micros(at)
    logged_keys: set[tuple[str, str, str]] = set()
    existing: dict[tuple[str, str, str], Relation] = {}
    for action, logged_at, text in logged:
        # The log has ids as callers spelt them.
        relation = relation_from_text(text)
        source, target = (id_text(id_bytes(end)) for end in (relation.source, relation.target))
        relation = replace(relation, source=source, target=target)
        # An imported relation is as old as it says, unless the log knows what was there before it.
        since = logged_at if relation.key in logged_keys else min(logged_at, to_micros(relation.created_at))
        if action == Action.RELATED and since <= moment:
            existing[relation.key] = relation
        elif action == Action.UNRELATED and logged_at <= moment:
            existing.pop(relation.key, None)
        elif action == Action.UNRELATED and since <= moment:
            # The log begins with its removal: it existed before.
            existing.setdefault(relation.key, relation)
        logged_keys.add(relation.key)
    for relation in current:
        if relation.key not in logged_keys and relation.created_at <= at:
            existing[relation.key] = relation
    return sorted(existing.values(), key=lambda relation: (relation.created_at, relation.type, relation.target))
