"""The job `tags`: a memory with few tags gets more, from its text or from the tags of its space."""

from collections.abc import Sequence
from typing import cast

from scrubjay.curation.target import NO_ANSWER, JobTarget, Prompt
from scrubjay.model.query import facet
from scrubjay.text.tokens import running_terms_of

PROMPT = Prompt(
    instructions="""You choose tags for a note: 3 to 8 of them, the most telling first.
A tag is one word, or two or three joined by a hyphen, in lower case. It names what the note is about, in the note's own
words. Where one of the tags that are already in use fits, take that one as it is spelled.
Answer with one field, tags.""",
    schema={
        "type": "object",
        "properties": {"tags": {"type": "array", "items": {"type": "string"}}},
        "required": ["tags"],
        "additionalProperties": False,
    },
)
_MAX_TAGS = 8
_ENOUGH_TAGS = 3
_MAX_SHOWN_TAGS = 50
_MAX_TAG_LENGTH = 40
_MAX_TEXT_LENGTH = 5_000


async def suggest_tags(target: JobTarget) -> str:
    """Add tags after the existing ones."""
    memory, reader = target.memory, target.engine.reader
    if len(memory.tags) >= _ENOUGH_TAGS:
        return "skipped: it has enough"
    text = "\n".join([memory.title, memory.content, *(observation.text for observation in memory.observations)]).strip()
    existing = await reader.labels(memory.space, "tag", prefix="", limit=_MAX_SHOWN_TAGS)
    material = f"The note:\n{text[:_MAX_TEXT_LENGTH]}\n\nTags in use: {', '.join(existing) or 'none'}\n"
    answer = await target.ask(PROMPT, material)
    if answer is None:
        return NO_ANSWER
    suggested = [tag for tag in _normalize(cast("list[str]", answer["tags"])) if tag not in memory.tags]
    tags = await _filter_grounded(suggested, target, text=text)
    if not tags:
        return "unchanged: no tag comes from the text or from the space"
    room = _MAX_TAGS - len(memory.tags)
    return await target.write({"tags": [*memory.tags, *tags[:room]]}, message="tags suggested")


def _normalize(tags: Sequence[str]) -> list[str]:
    spaced = (" ".join(tag.lower().split()).strip("#-_ ") for tag in tags)
    return list(dict.fromkeys(tag.replace(" ", "-") for tag in spaced if tag))[:_MAX_TAGS]


async def _filter_grounded(tags: Sequence[str], target: JobTarget, *, text: str) -> list[str]:
    """Return the tags that are in use in the space, or whose words are in the text."""
    memory = target.memory
    facets = {tag: facet("tag", tag) for tag in tags if len(tag) <= _MAX_TAG_LENGTH}
    used = await target.engine.reader.known_facets(memory.space, list(facets.values()), state=memory.state)
    words = set(running_terms_of(text))

    def is_in_text(tag: str) -> bool:
        terms = set(running_terms_of(tag))
        return bool(terms) and terms <= words

    return [tag for tag, key in facets.items() if used.get(key) or is_in_text(tag)]
