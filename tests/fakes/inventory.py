"""All that the fake store holds, page by page."""

import json
from collections.abc import Sequence

from scrubjay.model.change import Origin
from scrubjay.model.passage import Vector
from scrubjay.model.snapshot import to_body
from scrubjay.model.version import MemoryHistory
from scrubjay.ports.commit import StoredAnswer
from tests.fakes.state import Housed


class FakeInventory(Housed):
    """The port `Inventory`."""

    async def spaces(self) -> list[str]:
        """The names of all spaces."""
        return sorted(self._house.rooms)

    async def ids(self, space: str, *, after: str = "", limit: int) -> list[str]:
        """Ids of memories in every state."""
        return sorted(entry for entry in self._house.room(space).entries if entry > after)[:limit]

    async def histories(self, space: str, ids: Sequence[str], *, most_bytes: int) -> list[MemoryHistory]:
        """Memories with their whole past."""
        entries = self._house.room(space).entries
        found: list[MemoryHistory] = []
        total = 0
        for entry in [entries[fromkey] for fromkey in dict.fromkeys(ids) if fromkey in entries]:
            total += sum(len(json.dumps(to_body(version.memory))) for version in entry.versions)
            if found and total > most_bytes:
                break
            found.append(MemoryHistory(memory=entry.memory, versions=entry.versions))
        return found

    async def models(self) -> dict[str, int]:
        """The models and the length of their vectors."""
        kept = (pair for room in self._house.rooms.values() for pair in room.vectors.items())
        return {model: len(vector) for (model, _), vector in kept}

    async def stored_vectors(self, space: str, model: str, *, after: bytes = b"", limit: int) -> dict[bytes, Vector]:
        """Vectors in the order of their hashes."""
        kept = self._house.room(space).vectors
        hashes = sorted(key for name, key in kept if name == model and key > after)
        return {key: kept[model, key] for key in hashes[:limit]}

    async def answers(self, space: str, *, after: str | bytes | None = None, limit: int) -> list[StoredAnswer]:
        """Answers in the order of their keys, texts before digests."""
        kept = sorted(self._house.room(space).answers.values(), key=lambda one: _order(one.key))
        return [one for one in kept if after is None or _order(one.key) > _order(after)][:limit]

    async def import_answers(self, space: str, answers: Sequence[StoredAnswer], *, origin: Origin) -> int:
        """Keep answers of another store."""
        del origin
        room = self._house.room(space).copy()
        fresh = {answer.key_digest: answer for answer in answers if answer.key_digest not in room.answers}
        room.answers |= fresh
        self._house.rooms[space] = room
        return len(fresh)

    async def token_digests(self) -> dict[str, bytes]:
        """The digests of all secrets."""
        return {token.id: digest for digest, token in self._house.tokens.items()}


def _order(key: str | bytes) -> tuple[bool, bytes]:
    return isinstance(key, bytes), key.encode("utf-8", "surrogatepass") if isinstance(key, str) else key
