"""Random operations, applied in the same way on every backend."""

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from hypothesis import strategies as st

from scrubjay.engine import Engine
from scrubjay.errors import ScrubjayError
from scrubjay.model.caller import Caller
from scrubjay.model.draft import Draft
from scrubjay.model.memory import Json, Source, State
from scrubjay.model.query import Filter
from scrubjay.model.relation import LINK
from scrubjay.model.requests import (
    Edit,
    ForgetRequest,
    HistoryRequest,
    PurgeRequest,
    ReadRequest,
    RecallRequest,
    RelateRequest,
    RestoreRequest,
    RevertRequest,
    SearchTextRequest,
    StatusRequest,
    UndoRequest,
    UnrelateRequest,
)
from scrubjay.model.results import Related
from scrubjay.service import LocalService

_WORDS = "acorn oak jay tea coffee river stone winter hides finds green old the of C++ naïve 日本 don't node.js".split()
_MISSPELT = "acron cofee rivver wintre hidse greeen".split()
_WHEN = ("yesterday", "last week", "in May 2024", "on 3 May")
_DAY = datetime(2024, 5, 20, 12, tzinfo=UTC)
_LABELS = ("work", "home", "Work", "two words", "日本")
texts = st.lists(st.sampled_from(_WORDS), min_size=1, max_size=9).map(" ".join)
labels = st.sampled_from(("", *_LABELS))
phrases = st.lists(st.sampled_from(_WORDS), min_size=2, max_size=3).map(lambda words: f'"{" ".join(words)}"')
queries = st.lists(
    st.one_of(texts, texts, phrases, *map(st.sampled_from, (_MISSPELT, _WHEN, _LABELS))),
    min_size=1, max_size=3,
).map(" ".join)  # fmt: skip
tags = st.lists(st.sampled_from(_LABELS), max_size=3).map(tuple)
numbers = st.integers(min_value=0, max_value=30)


@dataclass(frozen=True, kw_only=True)
class Operation:
    """A verb with its arguments; memories are referred to by the order of their creation."""

    verb: str
    first: int
    second: int
    text: str
    label: str
    tags: tuple[str, ...]
    flag: bool


operations = st.builds(
    Operation,
    verb=st.sampled_from(
        ("remember",) * 6 + ("revise", "retag", "forget", "restore", "purge", "relate", "unrelate", "revert", "undo")
    ),
    first=numbers, second=numbers, text=texts, label=labels, tags=tags, flag=st.booleans(),
)  # fmt: skip
filters = st.builds(
    Filter,
    category=labels, entity=labels, tags=tags, any_tags=tags,
    metadata=st.sampled_from(({}, {}, {"n": 1}, {"n": "work"})),
    state=st.sampled_from((State.LIVE, State.LIVE, State.TRASHED)),
)  # fmt: skip
questions = st.builds(
    RecallRequest, query=st.one_of(queries, queries, st.just("")), filter=st.one_of(st.just(Filter()), filters),
    limit=st.sampled_from((1, 3, 10, 100)), max_tokens=st.just(100_000), around=st.sampled_from((0, 0, 2)),
    contains=st.sampled_from(("", "", "", "e", "EA", "NAI\u0308")), today=st.sampled_from((None, _DAY)),
)  # fmt: skip


@dataclass(kw_only=True)
class OperationSequence:
    """A space on one backend, and the memories created in it."""

    engine: Engine
    who: Caller
    made: list[str]

    async def apply(self, operation: Operation) -> str:
        """Apply an operation; return its outcome in a form that is the same on every backend."""
        try:
            return await self._do(operation)
        except ScrubjayError as error:
            return type(error).__name__

    async def _do(self, operation: Operation) -> str:
        engine, who = self.engine, self.who
        if operation.verb == "remember":
            metadata: dict[str, Json] = {"n": operation.first % 3} if operation.flag else {"n": operation.label}
            if operation.second % 4 == 2:
                metadata["aliases"] = [operation.label, operation.text.split()[0]]
            at = _DAY - timedelta(days=operation.first) if operation.second % 3 else None
            done = await engine.remember(
                Draft(
                    text=operation.text, category=operation.label, tags=operation.tags, pinned=operation.first == 1,
                    metadata=metadata, entities=("work", "home") if operation.second == 1 else (),
                    observations=(operation.text[::-1],) * operation.flag,
                    source=Source(session=operation.label, at=at),
                ),
                who=who,
            )  # fmt: skip
            self.made += [id_ for id_ in done.ids if id_ not in self.made]
            return f"{done.action} {len(done.ids)} {done.version} {done.tags} {done.warnings}"
        if not self.made:
            return "nothing to do it to"
        first, second = (self.made[number % len(self.made)] for number in (operation.first, operation.second))
        if operation.verb == "revise":
            return str((await engine.apply_edit(first, Edit(fields={"content": operation.text}), who=who)).version)
        if operation.verb == "retag":
            edit = Edit(fields={"tags": list(operation.tags), "category": operation.label, "pinned": operation.flag})
            return str((await engine.apply_edit(first, edit, who=who)).version)
        if operation.verb == "revert":
            return str((await engine.revert(RevertRequest(id=first, to=1 + operation.second % 3), who=who)).version)
        if operation.verb == "undo":
            undone = await engine.undo(UndoRequest(), who=who)
            return f"{len(undone.done)} {len(undone.skipped)}"
        if operation.verb == "relate":
            return _links(
                await engine.relate(
                    RelateRequest(source=first, target=second, relation=operation.label or LINK), who=who
                )
            )
        if operation.verb == "unrelate":
            return _links(
                await engine.unrelate(
                    UnrelateRequest(source=first, target=second, relation=operation.label or LINK), who=who
                )
            )
        service = LocalService.over(engine)
        move = {"forget": ForgetRequest, "restore": RestoreRequest, "purge": PurgeRequest}[operation.verb]
        return str([change.version for change in (await service.call(move(ids=(first,)), who=who)).done])

    def number(self, memory_id: str) -> int:
        """Return the position of a memory in the order of creation; ids differ between backends."""
        return self.made.index(memory_id)

    async def recall(self, question: RecallRequest) -> list[tuple[int, str, float]]:
        """Return (memory, passage, score) of every hit and every pinned memory, in order."""
        answer = await self.engine.recall(question, who=self.who)
        assert not answer.degraded, answer.degraded
        # Memories that are read often rank higher: they are counted now, so after the same question on every backend.
        await self.engine.access_log.flush()
        return [
            (
                self.number(hit.id),
                "\n".join((hit.passage, *(f"{neighbour.place} {neighbour.passage}" for neighbour in hit.around))),
                hit.score,
            )
            for hit in (*answer.pinned, *answer.hits)
        ]

    async def search(self, query: str) -> list[tuple[int, float, str]]:
        """Return (memory, score, snippet) of all memories that have the words, or the most of them."""
        answer = await self.engine.search_text(SearchTextRequest(query=query, limit=100), who=self.who)
        return sorted((self.number(hit.id), hit.score, hit.snippet) for hit in answer.hits)

    async def state(self) -> list[str]:
        """Return every memory with all its versions, and the counts of the space."""
        lines: list[str] = []
        for number, memory_id in enumerate(self.made):
            read = await self.engine.read(ReadRequest(ids=(memory_id,)), who=self.who)
            for memory in read.memories:
                # Ids differ, accesses are counted later, and the fields of an object have no order.
                plain = replace(memory, id="", name="", group="", access_count=0, last_accessed=None)
                lines.append(f"{number} {replace(plain, metadata=dict(sorted(memory.metadata.items())))}")
            history = await self.engine.history(HistoryRequest(id=memory_id), who=self.who) if read.memories else None
            versions = history.versions if history else ()
            lines += [
                f"{number} v{version.number} {version.action} {version.message} {version.memory.content}"
                for version in versions
            ]
            edges = {
                (self.number(relation.source), relation.type, self.number(relation.target))
                for relation in read.relations
            }
            lines += [f"{number} {edge}" for edge in sorted(edges)]
        status = await self.engine.status(StatusRequest(), who=self.who)
        return [*lines, f"{sorted(status.memories.items())} {status.versions} {status.relations}"]


def _links(related: Related) -> str:
    return f"{related.action} {len(related.source_links)} {len(related.target_links)}"
