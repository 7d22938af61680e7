"""The job `tags`: a memory with too few tags gets some that its text or its space knows."""

from scrubjay.curation.prompts import tags as task
from scrubjay.curation.target import JobTarget
from scrubjay.model.query import facet
from scrubjay.text.tokens import running_terms_of

_ENOUGH = 3
_SHOWN = 50
_LONGEST = 40
_LONGEST_TEXT = 5_000


async def suggest_tags(subject: JobTarget) -> str:
    """Add tags; those that were there stay, in front."""
    memory, store = subject.memory, subject.engine.store
    if len(memory.tags) >= _ENOUGH:
        return "skipped: it has enough"
    text = "\n".join([memory.title, memory.content, *(observation.text for observation in memory.observations)]).strip()
    known = await store.labels(memory.space, "tag", prefix="", limit=_SHOWN)
    answer = await subject.ask(task.render(text[:_LONGEST_TEXT], known=known), task=task)
    if answer is None:
        return "kept as it was: the model gave no such answer"
    tags = await _grounded([one for one in task.told(answer) if one not in memory.tags], subject, text=text)
    room = task.MOST - len(memory.tags)
    if not tags:
        return "kept as it was: no tag that the text or the space knows"
    return await subject.write({"tags": [*memory.tags, *tags[:room]]}, message="tags suggested")


async def _grounded(tags: list[str], subject: JobTarget, *, text: str) -> list[str]:
    """The tags that say nothing new: their words are in the text, or others have them."""
    memory = subject.memory
    facets = {tag: facet("tag", tag) for tag in tags if len(tag) <= _LONGEST}
    used = await subject.engine.store.known_facets(memory.space, list(facets.values()), state=memory.state)
    words = set(running_terms_of(text))

    def is_told(tag: str) -> bool:
        terms = set(running_terms_of(tag))
        return bool(terms) and terms <= words

    return [tag for tag, one in facets.items() if used.get(one) or is_told(tag)]
