"""The query that begins a commit: all that its plan needs, in one message."""

import json
from collections.abc import Iterable, Sequence

from scrubjay.errors import InvalidInput
from scrubjay.model.memory import Json, State
from scrubjay.model.passage import Passage
from scrubjay.model.relation import Relation
from scrubjay.ports import Edge, Embedded
from scrubjay.storage.body_cache import WHOLE_VERSIONS
from scrubjay.storage.postgres.bodies import Body, encoded_of
from scrubjay.storage.postgres.commit.plan import RelationKey, StoredMemory
from scrubjay.storage.postgres.database import Rows, SqlQuery, Transaction
from scrubjay.storage.postgres.rows import (
    canonical_id,
    canonical_ids,
    digest_of,
    from_hex,
    relation_of,
    to_hex,
    words_of,
)
from scrubjay.storage.rows import STATES, key_of


class CommitQuery:
    """The request to `prepare_commit`, and its result."""

    def __init__(self) -> None:
        self._request: dict[str, Json | list[str] | list[int]] = {}
        self._result: dict[str, Rows] = {}

    @property
    def queries(self) -> list[SqlQuery]:
        """The query for the whole request."""
        return [SqlQuery("SELECT scrubjay.prepare_commit(%s::jsonb)", (json.dumps(self._request),))]

    def take_result(self, transaction: Transaction) -> None:
        """Take the result from the transaction that the query began."""
        self._result = transaction.prefetched[0][0][0]

    def rows(self, name: str) -> Rows:
        """Return a part of the result, nothing if it was not requested."""
        return self._result.get(name) or []

    # ---- request ----

    def request_memories(self, ids: Sequence[str]) -> None:
        """Request the rows of memories."""
        self._request["memory_ids"] = canonical_ids(ids)

    def request_terms(self, ids: Sequence[str]) -> None:
        """Request the terms that memories have now."""
        self._request["revised_ids"] = canonical_ids(ids)

    def request_last_versions(self) -> None:
        """Request the last stored versions of the same memories."""
        self._request["last_versions"] = WHOLE_VERSIONS

    def request_new_words(self, space: str, indexed: Iterable[tuple[State, Sequence[Passage]]]) -> None:
        """Request the words of passages that the vocabulary does not contain."""
        words: dict[int, None] = {}
        for state, passages in indexed:
            by_term = words_of(space, state, (term for passage in passages for term in passage.terms))
            words |= dict.fromkeys(by_term.values())
        self._request["words"] = list(words)

    def request_names(self, names: Sequence[str]) -> None:
        """Request the memories that have these names."""
        self._request["name_digests"] = [to_hex(digest_of(name)) for name in dict.fromkeys(names)]

    def request_runs(self, names: Sequence[str]) -> None:
        """Request the runs with these names."""
        self._request["run_keys"] = [key_of(name) for name in dict.fromkeys(names)]

    def request_answer(self, key: str) -> None:
        """Request the stored result under an idempotency key."""
        self._request["idempotency_key"] = to_hex(digest_of(key))

    def request_relations(self, edges: Sequence[Edge]) -> None:
        """Request the current relations."""
        ends = ((canonical_id(edge.relation.source), edge, canonical_id(edge.relation.target)) for edge in edges)
        self._request["relations"] = [
            {"source": source, "type_digest": to_hex(digest_of(edge.relation.type)), "target": target}
            for source, edge, target in ends
            if source and target
        ]

    def request_vectors(self, embedded: Embedded) -> None:
        """Request the model, the texts that it has embedded, and the memories that share the other texts."""
        self._request["model"] = embedded.model
        self._request["hashes"] = [to_hex(digest) for digest in embedded.vectors]

    def reserve_numbers(self, *, changes: int, memories: int, runs: int) -> None:
        """Reserve at most so many numbers; changes of memories that share a text are added."""
        self._request["reserve"] = {"changes": changes, "memories": memories, "runs": runs}

    # ---- result ----

    def memories(self, name: str = "memories") -> dict[str, StoredMemory]:
        """Return the rows of memories, by id."""
        return {str(row[1]): _stored_memory(row) for row in self.rows(name)}

    def names(self) -> dict[bytes, str]:
        """Return the ids of memories by the digest of their name."""
        return {from_hex(digest): str(memory_id) for digest, memory_id in self.rows("name_holders")}

    def terms(self) -> dict[str, list[list[str]]]:
        """Return the terms of each passage, by the id of the memory."""
        by_memory: dict[str, list[list[str]]] = {}
        for memory_id, terms in self.rows("terms"):
            by_memory.setdefault(str(memory_id), []).append(str(terms).split())
        return by_memory

    def last_versions(self) -> list[Body]:
        """Return the last versions of the revised memories, oldest first; none of memories with large bodies."""
        rows = self.rows("last_versions")
        large = {row[0] for row in rows if row[-1] is None}
        return [
            Body(
                encoded_of((*packed[:2], from_hex(packed[2]), packed[3], from_hex(packed[4]))),
                str(memory_id),
                number,
                memory_no,
            )
            for memory_no, memory_id, number, *packed in rows
            if memory_no not in large
        ]

    def new_words(self) -> set[int]:
        """Return the words that the vocabulary does not contain."""
        return {int(row[0]) for row in self.rows("new_words")}

    def relations(self) -> dict[RelationKey, Relation]:
        """Return the current relations, by key."""
        relations = (relation_of(row) for row in self.rows("relations"))
        return {relation.key: relation for relation in relations}

    def embedded(self) -> set[bytes]:
        """Return the hashes of texts that have a vector."""
        return {from_hex(row[0]) for row in self.rows("embedded")}

    def model(self, embedded: Embedded) -> int | None:
        """Return the number of the model, None for a new one; raises InvalidInput for another dimension."""
        rows = self.rows("model")
        if rows and int(rows[0][1]) != embedded.dimension:
            raise InvalidInput(
                f"model {embedded.model!r} has {rows[0][1]} dimensions in this store, "
                f"the embedder gives {embedded.dimension}",
                hint="Name the changed model differently in SCRUBJAY_EMBEDDING_MODEL",
                model=embedded.model,
            )
        return int(rows[0][0]) if rows else None


def _stored_memory(row: Sequence[object]) -> StoredMemory:
    number, _, version, state, passages, index_key, name_digest, facets = row
    return StoredMemory(
        number=int(str(number)),
        version=int(str(version)),
        state=STATES[int(str(state))],
        passages=int(str(passages)),
        index_key=from_hex(str(index_key)),
        name_digest=from_hex(str(name_digest)),
        facets=tuple(json.loads(str(facets))),
    )
