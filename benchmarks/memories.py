"""Sentences as memories, with labels of known selectivity for the filters."""

from collections.abc import Sequence

from scrubjay.client import MemoryClient
from scrubjay.model.caller import Caller
from scrubjay.model.draft import Draft
from scrubjay.model.memory import Method, Source, Trust
from scrubjay.model.query import Filter

CALLER = Caller(space="benchmark", agent="benchmark")
_KINDS = "fact preference decision event person task learning".split()
_PROJECTS = 100
_SCOPE = "benchmark"
_TAGS = (
    "health travel food music garden school money family work design release testing search backup security "
    "reading sport weather housing language history science repair meeting deadline hobby pets shopping energy privacy"
).split()
_PEOPLE = "Ada Boris Chiara Deniz Elif Freya Goran Hana Ilya Jonas Kofi Lucia".split()
_A_SESSION = 20

FILTERS = {
    "1 %": Filter(project="project-7"),
    "14 %": Filter(kind=_KINDS[3]),
    "100 %": Filter(scope=_SCOPE),
}


def drafts(sentences: Sequence[str], *, first: int = 0) -> list[Draft]:
    """Turn sentences into drafts with labels, as an agent would."""
    return [_draft(sentence, number) for number, sentence in enumerate(sentences, start=first)]


async def remember(memory: MemoryClient, draft: Draft) -> None:
    """Remember a draft as programs do; exit if the memory is not created."""
    done = await memory.remember(
        draft.text,
        kind=draft.kind,
        entities=draft.entities,
        tags=draft.tags,
        project=draft.project,
        scope=draft.scope,
        source=draft.source,
        intent=draft.intent,
    )
    if done.action != "created":
        raise SystemExit(f"a sentence was {done.action} instead of created: {draft.text}")


def _draft(sentence: str, number: int) -> Draft:
    tags = dict.fromkeys(_TAGS[number * step % len(_TAGS)] for step in (1, 7, 11))
    return Draft(
        text=sentence,
        # Generated sentences are often alike, and every one must be stored.
        intent="new",
        kind=_KINDS[number % len(_KINDS)],
        entities=(_PEOPLE[number // 3 % len(_PEOPLE)],),
        tags=tuple(tags),
        project=f"project-{number % _PROJECTS}",
        scope=_SCOPE,
        source=Source(
            session=f"session-{number // _A_SESSION}", agent=CALLER.agent, method=Method.AGENT, trust=Trust.USER
        ),
    )
