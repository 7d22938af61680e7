"""What a commit has to know before it can be planned, asked in one message."""

import json
from collections.abc import Iterable, Sequence

from scrubjay.errors import InvalidInput, KeyReused
from scrubjay.model.memory import Json, State
from scrubjay.model.moment import from_micros
from scrubjay.model.passage import Passage
from scrubjay.model.relation import Relation
from scrubjay.ports import Edge, Embedded
from scrubjay.stores.packing import WHOLE_AT_THE_END
from scrubjay.stores.postgres.asking import Ask, Rows
from scrubjay.stores.postgres.keeping import written
from scrubjay.stores.postgres.lining import Body, encoded_of
from scrubjay.stores.postgres.planning import Known, RelationKey, canonical_id
from scrubjay.stores.postgres.words import digest_of, words_of
from scrubjay.stores.rows import STATES, key_of


class Opening:
    """What is asked, and the answers once they are there."""

    def __init__(self) -> None:
        self._asked: dict[str, Json | list[str] | list[int]] = {}
        self._answers: dict[str, Rows] = {}

    @property
    def asks(self) -> list[Ask]:
        """The question for all of it."""
        return [Ask("SELECT scrubjay.open_3(%s::jsonb)", (json.dumps(self._asked),))]

    def answer(self, opened: Sequence[Rows]) -> None:
        """Take the answers."""
        self._answers = opened[0][0][0]

    def rows(self, name: str) -> Rows:
        """An answer; nothing when it was not asked for."""
        return self._answers.get(name) or []

    # ---- questions ----

    def ask_known(self, ids: Sequence[str]) -> None:
        """What is known of memories."""
        self._asked["ids"] = plain_ids(ids)

    def ask_terms(self, ids: Sequence[str]) -> None:
        """What memories are found by now."""
        self._asked["revised"] = plain_ids(ids)

    def ask_line(self) -> None:
        """The last versions of those memories, as they are stored."""
        self._asked["line"] = WHOLE_AT_THE_END

    def ask_words(self, space: str, found_by: Iterable[tuple[State, Sequence[Passage]]]) -> None:
        """Which words of passages in some state the vocabulary has not yet."""
        words: dict[int, None] = {}
        for state, passages in found_by:
            known = words_of(space, state, (term for passage in passages for term in passage.terms))
            words |= dict.fromkeys(known.values())
        self._asked["words"] = list(words)

    def ask_holders(self, names: Sequence[str]) -> None:
        """Who has the names."""
        self._asked["names"] = [written(digest_of(name)) for name in dict.fromkeys(names)]

    def ask_runs(self, names: Sequence[str]) -> None:
        """The runs of these names."""
        self._asked["runs"] = [key_of(name) for name in dict.fromkeys(names)]

    def ask_once(self, key: str) -> None:
        """What was answered under an idempotency key."""
        self._asked["once"] = written(digest_of(key))

    def ask_relations(self, edges: Sequence[Edge]) -> None:
        """The relations as they are."""
        ends = ((canonical_id(edge.relation.source), edge, canonical_id(edge.relation.target)) for edge in edges)
        self._asked["relations"] = [
            {"source": source, "type_digest": written(digest_of(edge.relation.type)), "target": target}
            for source, edge, target in ends
            if source and target
        ]

    def ask_vectors(self, embedded: Embedded) -> None:
        """The model, which texts it has embedded, and who shares those that it has not."""
        self._asked["model"] = embedded.model
        self._asked["hashes"] = [written(digest) for digest in embedded.vectors]

    def ask_numbers(self, *, changes: int, memories: int, runs: int) -> None:
        """Numbers for as many as there may be; changes for those that share a text come on top."""
        self._asked["reserve"] = {"changes": changes, "memories": memories, "runs": runs}

    # ---- answers ----

    def known(self, name: str = "known") -> dict[str, Known]:
        """What is known, by id."""
        return {str(row[1]): known_of(row) for row in self.rows(name)}

    def holders(self) -> dict[bytes, str]:
        """The ids of who has a name, by its digest."""
        return {read(digest): str(memory_id) for digest, memory_id in self.rows("holders")}

    def terms(self) -> dict[str, list[list[str]]]:
        """The terms of each passage, by the id of the memory."""
        found: dict[str, list[list[str]]] = {}
        for memory_id, terms in self.rows("terms"):
            found.setdefault(str(memory_id), []).append(str(terms).split())
        return found

    def line(self) -> list[Body]:
        """The last versions of what is revised, oldest first; of memories that are large there are none."""
        rows = self.rows("line")
        large = {row[0] for row in rows if row[-1] is None}
        return [
            Body(encoded_of((*packed[:2], read(packed[2]), packed[3], read(packed[4]))), str(one), number, no)
            for no, one, number, *packed in rows
            if no not in large
        ]

    def new_words(self) -> set[int]:
        """The words that the vocabulary has not yet."""
        return {int(row[0]) for row in self.rows("new_words")}

    def relations(self) -> dict[RelationKey, Relation]:
        """The relations that are there, by what makes them the same."""
        found = (relation_of(row) for row in self.rows("relations"))
        return {relation.key: relation for relation in found}

    def embedded(self) -> set[bytes]:
        """The texts that have a vector already."""
        return {read(row[0]) for row in self.rows("embedded")}

    def model(self, embedded: Embedded) -> int | None:
        """The number of the model if it is known; raises InvalidInput when its vectors had another length."""
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
    """The answer, if there is one; raises KeyReused when it was for another request."""
    if not rows:
        return None
    if read(rows[0][0]) != digest:
        raise KeyReused(
            f"idempotency key {key!r} was used for another request", hint="Use a new key for a new request", key=key
        )
    return str(rows[0][1])


def known_of(row: Sequence[object]) -> Known:
    """What the database says of a memory that it knows."""
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
    """The relation of a row: both ends by their ids."""
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
    """Bytes as the database writes them."""
    return bytes.fromhex(data[2:])


def plain_ids(ids: Sequence[str]) -> list[str]:
    """Ids as the database spells them, each once; what is none is left out."""
    return [plain for one in dict.fromkeys(ids) if (plain := canonical_id(one))]
