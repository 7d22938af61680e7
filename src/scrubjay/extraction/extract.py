"""`extract`: read a chat log, find its facts, and store them like every other write."""

import hashlib
from collections.abc import AsyncIterator
from functools import partial

from scrubjay import telemetry
from scrubjay.errors import InvalidInput
from scrubjay.extraction.chat_log import read_conversations
from scrubjay.extraction.json_log import Conversation
from scrubjay.extraction.llm import ExtractedFacts, ask_model
from scrubjay.extraction.patterns import facts_of
from scrubjay.extraction.speakers import speakers_of
from scrubjay.extraction.store import FactStore, HandOn
from scrubjay.model.change import Origin
from scrubjay.model.fact import Extracted, StoredFact
from scrubjay.model.requests import ExtractRequest
from scrubjay.ports import Llm, Progress
from scrubjay.workers import LONG_TEXT, offload
from scrubjay.writing.context import WriteContext
from scrubjay.writing.validate import label

__all__ = ["METHODS", "extract"]

METHODS = ("auto", "patterns", "llm")
_MAX_WARNINGS = 5
# The first turns identify a log without a name.
_IDENTIFYING_TURNS = 3


async def extract(
    request: ExtractRequest,
    *,
    space: str,
    origin: Origin,
    context: WriteContext,
    llm: Llm | None,
    hand_on: HandOn,
    progress: Progress | None = None,
) -> Extracted:
    """Return the facts of a log, and store them if it says so."""
    session, project = (
        label(getattr(request, name), field=name, limits=context.limits) for name in ("session", "project")
    )
    method = request.method
    if method not in METHODS:
        raise InvalidInput(f"no method is called {method!r}", hint=f"One of: {', '.join(METHODS)}", field="method")
    if method == "llm" and llm is None:
        raise InvalidInput("there is no language model", hint="Set SCRUBJAY_LLM, or ask for patterns", field="method")
    model = None if method == "patterns" else llm
    with telemetry.stage("extract.read"):
        size = len(request.text)
        conversations = await offload(size, read_conversations, request.text, request.format)
        speakers = await offload(size, speakers_of, conversations, me=request.me, trusted=request.trusted)
    facts_store = FactStore(
        space=space, project=project, speakers=speakers, origin=origin, context=context, hand_on=hand_on
    )
    counter = _TurnCounter(total=sum(len(conversation.turns) for conversation in conversations), progress=progress)
    facts: list[StoredFact] = []
    warnings = [speakers.warning] if speakers.warning and request.store else []
    for conversation in conversations:
        async for batch in _find_facts(conversation, llm=model):
            warnings += batch.warnings
            if request.store:
                session_name = session or _session_name(conversation)
                on_progress = partial(counter.report, batch)
                facts += await facts_store.store(batch.facts, session=session_name, on_progress=on_progress)
            else:
                facts += [StoredFact(fact=fact) for fact in batch.facts]
            counter.add(batch)
    return Extracted(
        facts=tuple(facts),
        turns=counter.total,
        session=session or _session_name(conversations[0]),
        run=origin.run if request.store else "",
        method="patterns" if model is None else "llm",
        warnings=tuple(dict.fromkeys((*warnings, *facts_store.warnings)))[:_MAX_WARNINGS],
    )


async def _find_facts(conversation: Conversation, *, llm: Llm | None) -> AsyncIterator[ExtractedFacts]:
    """Return the facts of a conversation; a model finds them in some turns at a time."""
    if llm is not None:
        async for batch in ask_model(conversation.turns, llm=llm):
            yield batch
        return
    turns = conversation.turns
    # The turns of a log are short: many of them are a long text.
    size = max(len(turns), sum([len(turn.text) for turn in turns[:LONG_TEXT]]))
    with telemetry.stage("extract.find"):
        facts = await offload(size, facts_of, turns)
    yield ExtractedFacts(facts=tuple(facts), turns=len(turns))


def _session_name(conversation: Conversation) -> str:
    """Return the name of a conversation, or a name made from its first turns."""
    if conversation.name:
        return conversation.name
    first = "\n".join(f"{turn.speaker}: {turn.text}" for turn in conversation.turns[:_IDENTIFYING_TURNS])
    return f"log-{hashlib.sha256(first.encode()).hexdigest()[:12]}"


class _TurnCounter:
    """Counts the turns that are done, and reports the progress."""

    def __init__(self, *, total: int, progress: Progress | None) -> None:
        self.total = total
        self._done = 0
        self._progress = progress

    def report(self, batch: ExtractedFacts, stored: int) -> None:
        """Report a share of a batch's turns, by the number of its facts that are stored."""
        if self._progress is not None:
            self._progress(self._done + batch.turns * stored // max(1, len(batch.facts)), self.total)

    def add(self, batch: ExtractedFacts) -> None:
        """Count all turns of a batch."""
        self._done += batch.turns
        if self._progress is not None:
            self._progress(self._done, self.total)
