"""`extract`: a conversation is read, its facts are found, and stored as all that is written."""

import asyncio
import hashlib
from collections.abc import AsyncIterator
from functools import partial

from scrubjay import telemetry
from scrubjay.errors import InvalidInput
from scrubjay.extraction.llm import ExtractedFacts, ask_model
from scrubjay.extraction.patterns import facts_of
from scrubjay.extraction.reading import Conversation, read_conversations
from scrubjay.extraction.speakers import speakers_of
from scrubjay.extraction.store import FactStore, HandOn
from scrubjay.model.change import Origin
from scrubjay.model.checks import require_text
from scrubjay.model.fact import Extracted, Fact, StoredFact
from scrubjay.ports import Llm, Progress
from scrubjay.writing.context import WriteContext
from scrubjay.writing.validate import label

__all__ = ["METHODS", "extract"]

METHODS = ("auto", "patterns", "llm")
# A text this long takes long enough to read that the event loop should not do it.
_LONG_TEXT = 20_000
_MOST_WARNINGS = 5
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
    me: str = "",
    trusted: bool = True,
    space: str,
    origin: Origin,
    context: WriteContext,
    llm: Llm | None,
    hand_on: HandOn,
    progress: Progress | None = None,
) -> Extracted:
    """The facts of a conversation, stored if asked; `me` is the speaker who is the user, if the log does not tell."""
    for name, given in (("text", text), ("format", format), ("method", method), ("me", me)):
        require_text(given, field=name)
    session, project = (
        label(given, field=name, limits=context.limits) for name, given in (("session", session), ("project", project))
    )
    model = _model(method, llm)
    with telemetry.stage("extract.read"):
        is_long = len(text) > _LONG_TEXT
        talks = (
            await asyncio.to_thread(read_conversations, text, format) if is_long else read_conversations(text, format)
        )
    speakers = speakers_of(talks, me=me, trusted=trusted)
    clerk = FactStore(space=space, project=project, speakers=speakers, origin=origin, context=context, hand_on=hand_on)
    count = _Count(total=sum(len(talk.turns) for talk in talks), progress=progress)
    facts: list[StoredFact] = []
    warnings = [speakers.warning] if speakers.warning and store else []
    for talk in talks:
        async for found in _found(talk, llm=model):
            warnings += found.warnings
            if store:
                told = partial(count.step, found)
                facts += await clerk.store(found.facts, session=_session(talk, session), told=told)
            else:
                facts += map(_unstored, found.facts)
            count.add(found)
    return Extracted(
        facts=tuple(facts),
        turns=count.total,
        session=session or _session(talks[0], ""),
        run=origin.run if store else "",
        method="patterns" if model is None else "llm",
        warnings=tuple(dict.fromkeys((*warnings, *clerk.warnings)))[:_MOST_WARNINGS],
    )


def _model(method: str, llm: Llm | None) -> Llm | None:
    if method not in METHODS:
        raise InvalidInput(f"there is no method {method!r}", hint=f"One of: {', '.join(METHODS)}", field="method")
    if method == "llm" and llm is None:
        raise InvalidInput("there is no language model", hint="Set SCRUBJAY_LLM, or ask for patterns", field="method")
    return None if method == "patterns" else llm


async def _found(talk: Conversation, *, llm: Llm | None) -> AsyncIterator[ExtractedFacts]:
    """The facts of a conversation, some turns at a time where a model is asked for them."""
    if llm is None:
        is_long = sum(len(turn.text) for turn in talk.turns) > _LONG_TEXT
        with telemetry.stage("extract.find"):
            facts = await asyncio.to_thread(facts_of, talk.turns) if is_long else facts_of(talk.turns)
        yield ExtractedFacts(facts=tuple(facts), turns=len(talk.turns))
        return
    async for found in ask_model(talk.turns, llm=llm):
        yield found


def _session(talk: Conversation, given: str) -> str:
    """The session that a conversation is filed under: as asked for, by its own name, or by how it begins."""
    if given or talk.name:
        return given or talk.name
    first = "\n".join(f"{turn.speaker}: {turn.text}" for turn in talk.turns[:_TELLING_TURNS])
    return f"log-{hashlib.sha256(first.encode()).hexdigest()[:12]}"


def _unstored(fact: Fact) -> StoredFact:
    return StoredFact(fact=fact)


class _Count:
    """How many turns are done with, for whoever wants to know."""

    def __init__(self, *, total: int, progress: Progress | None) -> None:
        self.total = total
        self._done = 0
        self._progress = progress

    def step(self, found: ExtractedFacts, stored: int) -> None:
        """So many of the facts that were found are stored: as many of the turns are done with."""
        if self._progress is not None:
            self._progress(self._done + found.turns * stored // max(1, len(found.facts)), self.total)

    def add(self, found: ExtractedFacts) -> None:
        """All turns in which something was looked for are done with."""
        self._done += found.turns
        if self._progress is not None:
            self._progress(self._done, self.total)
