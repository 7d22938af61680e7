"""`extract`: a conversation is read, its facts are found, and stored as all that is written."""

import asyncio
import hashlib
from collections.abc import Sequence

from scrubjay import telemetry
from scrubjay.errors import InvalidInput
from scrubjay.extraction.llm import facts_by_model
from scrubjay.extraction.patterns import facts_of
from scrubjay.extraction.reading import Talk, talks_of
from scrubjay.extraction.subjects import is_assistant
from scrubjay.model.change import Origin
from scrubjay.model.draft import Draft
from scrubjay.model.fact import Extracted, Fact, StoredFact
from scrubjay.model.given import require_text
from scrubjay.model.memory import Flag, Method, Source, State, Trust
from scrubjay.model.query import Filter
from scrubjay.ports import Llm
from scrubjay.writing.pipeline import Desk, remember
from scrubjay.writing.validate import label

__all__ = ["METHODS", "extract"]

METHODS = ("auto", "patterns", "llm")
# A text this long takes long enough to read that the event loop should not do it.
_LONG_TEXT = 20_000
_MOST_WARNINGS = 5
_MOST_MERGED = 5_000
# By what a log is known that has no name: what was said first.
_TELLING_TURNS = 3


async def extract(
    text: str,
    *,
    session: str,
    store: bool,
    format: str,
    method: str,
    project: str,
    trusted: bool = True,
    space: str,
    origin: Origin,
    desk: Desk,
    llm: Llm | None,
) -> Extracted:
    """The facts of a conversation, stored if asked; unless it is trusted, nobody's words are taken for the user's."""
    for name, given in (("text", text), ("format", format), ("method", method)):
        require_text(given, field=name)
    session, project = (
        label(given, field=name, limits=desk.limits) for name, given in (("session", session), ("project", project))
    )
    if method not in METHODS:
        raise InvalidInput(f"there is no method {method!r}", hint=f"One of: {', '.join(METHODS)}", field="method")
    if method == "llm" and llm is None:
        raise InvalidInput("there is no language model", hint="Set SCRUBJAY_LLM, or ask for patterns", field="method")
    with telemetry.stage("extract.read"):
        is_long = len(text) > _LONG_TEXT
        talks = await asyncio.to_thread(talks_of, text, format) if is_long else talks_of(text, format)
    clerk = _Clerk(space=space, project=project, trusted=trusted, origin=origin, desk=desk)
    facts: list[StoredFact] = []
    warnings: list[str] = []
    for talk in talks:
        with telemetry.stage("extract.find"):
            found, warned = await _found(talk, llm=None if method == "patterns" else llm)
        warnings += warned
        facts += await clerk.store(found, session=_session(talk, session)) if store else map(_unstored, found)
    return Extracted(
        facts=tuple(facts),
        turns=sum(len(talk.turns) for talk in talks),
        session=session or _session(talks[0], ""),
        run=origin.run if store else "",
        method="patterns" if llm is None or method == "patterns" else "llm",
        warnings=tuple(dict.fromkeys((*warnings, *clerk.warnings)))[:_MOST_WARNINGS],
    )


async def _found(talk: Talk, *, llm: Llm | None) -> tuple[Sequence[Fact], Sequence[str]]:
    if llm is not None:
        told = await facts_by_model(talk.turns, llm=llm)
        return told.facts, told.warnings
    is_long = sum(len(turn.text) for turn in talk.turns) > _LONG_TEXT
    return (await asyncio.to_thread(facts_of, talk.turns) if is_long else facts_of(talk.turns)), ()


def _session(talk: Talk, given: str) -> str:
    """The session that a conversation is filed under: as asked for, by its own name, or by how it begins."""
    if given or talk.name:
        return given or talk.name
    first = "\n".join(f"{turn.speaker}: {turn.text}" for turn in talk.turns[:_TELLING_TURNS])
    return f"log-{hashlib.sha256(first.encode()).hexdigest()[:12]}"


def _unstored(fact: Fact) -> StoredFact:
    return StoredFact(fact=fact)


class _Clerk:
    """Stores facts one by one, each once: those that are there already, alone or merged into others, are left alone."""

    def __init__(self, *, space: str, project: str, trusted: bool, origin: Origin, desk: Desk) -> None:
        self._space = space
        self._trusted = trusted
        self._project = project
        self._origin = origin
        self._desk = desk
        self.warnings: list[str] = []

    async def store(self, facts: Sequence[Fact], *, session: str) -> list[StoredFact]:
        """Store what a conversation says."""
        merged = await self._merged(session) if facts else {}
        done: list[StoredFact] = []
        for fact in facts:
            known = merged.get(_key(fact.subject, fact.statement)) or await self._known(fact)
            done.append(
                StoredFact(fact=fact, action="unchanged", id=known) if known else await self._kept(fact, session)
            )
            # Others may want to write, too.
            await asyncio.sleep(0)
        return done

    async def _kept(self, fact: Fact, session: str) -> StoredFact:
        kept = await remember(
            Draft(
                text=fact.statement,
                kind=fact.type.value,
                entities=(fact.subject,) if fact.subject else (),
                project=self._project,
                source=Source(
                    session=session,
                    at=fact.at,
                    method=Method.AUTO,
                    agent=self._origin.agent,
                    tool="extract",
                    trust=Trust.USER if self._trusted and not is_assistant(fact.speaker) else Trust.AGENT,
                ),
                metadata={"turn": fact.turn, "confidence": fact.confidence, "extracted_by": fact.method},
            ),
            space=self._space,
            origin=self._origin,
            desk=self._desk,
        )
        answer = kept.answer
        # That a sentence is short is no news of what was asked for sentence by sentence.
        if Flag.THIN not in answer.flags:
            self.warnings += answer.warnings
        return StoredFact(fact=fact, action=answer.action, id=answer.id, conflicts=answer.conflicts)

    async def _known(self, fact: Fact) -> str:
        """The memory that says just this, whenever and wherever it was said."""
        store = self._desk.store
        ids = await store.same_content(self._space, fact.statement)
        found = (await store.get(self._space, ids)).values() if ids else ()
        same = _key(fact.subject, fact.statement)
        return next(
            (one.id for one in found if _key(one.entity, one.content) == same and self._project in ("", one.project)),
            "",
        )

    async def _merged(self, session: str) -> dict[tuple[str, str], str]:
        """What of the session became part of other memories, and of which."""
        store = self._desk.store
        wanted = Filter(session=session, state=State.MERGED)
        ids = await store.list_ids(self._space, wanted, limit=_MOST_MERGED)
        parts = (await store.get(self._space, ids)).values() if ids else ()
        wholes = await store.get(self._space, list({one.merged_into for one in parts})) if parts else {}
        live = {memory.id for memory in wholes.values() if memory.state is State.LIVE}
        return {_key(one.entity, one.content): one.merged_into for one in parts if one.merged_into in live}


def _key(subject: str, statement: str) -> tuple[str, str]:
    return subject.casefold(), statement
