"""All contents of the fake store, page by page."""

import json
from collections.abc import Sequence

from scrubjay.model.change import Origin
from scrubjay.model.passage import Vector
from scrubjay.model.snapshot import to_body
from scrubjay.model.version import MemoryHistory
from scrubjay.ports.commit import StoredAnswer
from tests.fakes.state import FakePart


class FakeInventory(FakePart):
    """The port `Inventory`."""

    async def spaces(self) -> list[str]:
        """Return the names of all spaces."""
        return sorted(self._state.spaces)

    async def ids(self, space: str, *, after: str = "", limit: int) -> list[str]:
        """Return the ids of memories in every state."""
        return sorted(entry for entry in self._state.space(space).entries if entry > after)[:limit]

    async def histories(self, space: str, ids: Sequence[str], *, most_bytes: int) -> list[MemoryHistory]:
        """Return memories with their whole history."""
        entries = self._state.space(space).entries
        results: list[MemoryHistory] = []
        total = 0
        for entry in [entries[fromkey] for fromkey in dict.fromkeys(ids) if fromkey in entries]:
            total += sum(len(json.dumps(to_body(version.memory))) for version in entry.versions)
            if results and total > most_bytes:
                break
            results.append(MemoryHistory(memory=entry.memory, versions=entry.versions))
        return results

    async def models(self) -> dict[str, int]:
        """Return the models and the dimension of their vectors."""
        stored = (pair for space_state in self._state.spaces.values() for pair in space_state.vectors.items())
        return {model: len(vector) for (model, _), vector in stored}

    async def stored_vectors(self, space: str, model: str, *, after: bytes = b"", limit: int) -> dict[bytes, Vector]:
        """Return vectors in the order of their hashes."""
        stored = self._state.space(space).vectors
        hashes = sorted(key for name, key in stored if name == model and key > after)
        return {key: stored[model, key] for key in hashes[:limit]}

    async def answers(self, space: str, *, after: str | bytes | None = None, limit: int) -> list[StoredAnswer]:
        """Return answers in the order of their keys, texts before digests."""
        stored = sorted(self._state.space(space).answers.values(), key=lambda document: _order(document.key))
        return [item for item in stored if after is None or _order(item.key) > _order(after)][:limit]

    async def import_answers(self, space: str, answers: Sequence[StoredAnswer], *, origin: Origin) -> int:
        """Store answers of another store."""
        del origin
        space_state = self._state.space(space).copy()
        fresh = {answer.key_digest: answer for answer in answers if answer.key_digest not in space_state.answers}
        space_state.answers |= fresh
        self._state.spaces[space] = space_state
        return len(fresh)

    async def token_digests(self) -> dict[str, bytes]:
        """Return the digests of all secrets."""
        return {token.id: digest for digest, token in self._state.tokens.items()}


def _order(key: str | bytes) -> tuple[bool, bytes]:
    return isinstance(key, bytes), key.encode("utf-8", "surrogatepass") if isinstance(key, str) else key
