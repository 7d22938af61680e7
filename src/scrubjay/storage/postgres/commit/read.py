"""The first query of a commit: all that its plan needs, in one message."""

import json
from collections.abc import Iterable, Sequence

from scrubjay.errors import InvalidInput, KeyReused
from scrubjay.model.memory import Json, State
from scrubjay.model.passage import Passage
from scrubjay.model.relation import Relation
from scrubjay.model.timestamps import from_micros
from scrubjay.ports import Edge, Embedded
from scrubjay.storage.body_cache import WHOLE_AT_THE_END
from scrubjay.storage.postgres.commit.plan import Known, RelationKey, canonical_id
from scrubjay.storage.postgres.commit.rows import written
from scrubjay.storage.postgres.delta_chains import Body, encoded_of
from scrubjay.storage.postgres.query import Ask, Rows
from scrubjay.storage.postgres.words import digest_of, words_of
from scrubjay.storage.rows import STATES, key_of


class Opening:
    """The request to `prepare_commit`, and its result."""

    def __init__(self) -> None:
        self._request: dict[str, Json | list[str] | list[int]] = {}
        self._result: dict[str, Rows] = {}

    @property
    def asks(self) -> list[Ask]:
        """The query for the whole request."""
        return [Ask("SELECT scrubjay.prepare_commit(%s::jsonb)", (json.dumps(self._request),))]

    def answer(self, opened: Sequence[Rows]) -> None:
        """Take the result."""
        self._result = opened[0][0][0]

    def rows(self, name: str) -> Rows:
        """Return a part of the result, nothing when it was not requested."""
        return self._result.get(name) or []

    # ---- request ----

    def ask_known(self, ids: Sequence[str]) -> None:
        """Request the stored state of memories."""
        self._request["memory_ids"] = plain_ids(ids)

    def ask_terms(self, ids: Sequence[str]) -> None:
        """Request the terms that memories have now."""
        self._request["revised_ids"] = plain_ids(ids)

    def ask_line(self) -> None:
        """Request the last stored versions of the same memories."""
        self._request["last_versions"] = WHOLE_AT_THE_END

    def ask_words(self, space: str, found_by: Iterable[tuple[State, Sequence[Passage]]]) -> None:
        """Request the words of passages that the vocabulary does not contain."""
        words: dict[int, None] = {}
        for state, passages in found_by:
            by_term = words_of(space, state, (term for passage in passages for term in passage.terms))
            words |= dict.fromkeys(by_term.values())
        self._request["words"] = list(words)

    def ask_holders(self, names: Sequence[str]) -> None:
        """Request the memories that have these names."""
        self._request["name_digests"] = [written(digest_of(name)) for name in dict.fromkeys(names)]

    def ask_runs(self, names: Sequence[str]) -> None:
        """Request the runs with these names."""
        self._request["run_keys"] = [key_of(name) for name in dict.fromkeys(names)]

    def ask_once(self, key: str) -> None:
        """Request the answer under an idempotency key."""
        self._request["idempotency_key"] = written(digest_of(key))

    def ask_relations(self, edges: Sequence[Edge]) -> None:
        """Request the current relations."""
        ends = ((canonical_id(edge.relation.source), edge, canonical_id(edge.relation.target)) for edge in edges)
        self._request["relations"] = [
            {"source": source, "type_digest": written(digest_of(edge.relation.type)), "target": target}
            for source, edge, target in ends
            if source and target
        ]

    def ask_vectors(self, embedded: Embedded) -> None:
        """Request the model, the texts that it has embedded, and the memories that share the other texts."""
        self._request["model"] = embedded.model
        self._request["hashes"] = [written(digest) for digest in embedded.vectors]

    def ask_numbers(self, *, changes: int, memories: int, runs: int) -> None:
        """Reserve at most so many numbers; changes of memories that share a text are added."""
        self._request["reserve"] = {"changes": changes, "memories": memories, "runs": runs}

    # ---- result ----

    def known(self, name: str = "memories") -> dict[str, Known]:
        """Return the stored state of memories, by id."""
        return {str(row[1]): known_of(row) for row in self.rows(name)}

    def holders(self) -> dict[bytes, str]:
        """Return the ids of memories by the digest of their name."""
        return {read(digest): str(memory_id) for digest, memory_id in self.rows("name_holders")}

    def terms(self) -> dict[str, list[list[str]]]:
        """Return the terms of each passage, by the id of the memory."""
        by_memory: dict[str, list[list[str]]] = {}
        for memory_id, terms in self.rows("terms"):
            by_memory.setdefault(str(memory_id), []).append(str(terms).split())
        return by_memory

    def line(self) -> list[Body]:
        """Return the last versions of the revised memories, oldest first; none of memories with large bodies."""
        rows = self.rows("last_versions")
        large = {row[0] for row in rows if row[-1] is None}
        return [
            Body(encoded_of((*packed[:2], read(packed[2]), packed[3], read(packed[4]))), str(memory_id), number, no)
            for no, memory_id, number, *packed in rows
            if no not in large
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
        return {read(row[0]) for row in self.rows("embedded")}

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


def answer_of(rows: Rows, *, key: str, digest: bytes) -> str | None:
    """Return the answer, if there is one; raises KeyReused when it was for another request."""
    if not rows:
        return None
    if read(rows[0][0]) != digest:
        raise KeyReused(
            f"idempotency key {key!r} was used for another request", hint="Use a new key for a new request", key=key
        )
    return str(rows[0][1])


def known_of(row: Sequence[object]) -> Known:
    """Return the stored state of a memory from its row."""
    number, _, version, state, passages, index_key, name_digest, facets = row
    return Known(
        number=int(str(number)),
        version=int(str(version)),
        state=STATES[int(str(state))],
        passages=int(str(passages)),
        index_key=read(str(index_key)),
        name_digest=read(str(name_digest)),
        facets=tuple(json.loads(str(facets))),
    )


def relation_of(row: Sequence[object]) -> Relation:
    """Return the relation of a row."""
    source, kind, target, text, strength, metadata, created_at = row
    return Relation(
        source=str(source),
        type=str(kind),
        target=str(target),
        text=str(text),
        strength=float(str(strength)),
        metadata=json.loads(str(metadata)),
        created_at=from_micros(int(str(created_at))),
    )


def read(data: str) -> bytes:
    """Return the bytes that the database has written as text."""
    return bytes.fromhex(data[2:])


def plain_ids(ids: Sequence[str]) -> list[str]:
    """Return ids as the database spells them, each once, without malformed ones."""
    return [plain for memory_id in dict.fromkeys(ids) if (plain := canonical_id(memory_id))]
