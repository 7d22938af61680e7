"""Memories to passages: where the slices are cut, and what is embedded of each."""

import hashlib
import re
from collections.abc import Iterator

from scrubjay.model.memory import Memory
from scrubjay.model.passage import PASSAGES_PER_MEMORY, Passage
from scrubjay.text.tokens import terms_of
from scrubjay.text.when import date_words

# How texts are taken apart. Raised with every change of it: stores then read anew what they know in the old way.
SHAPE = 2
# What the bundled model reads of a text; a longer slice would be found by its beginning only.
LONGEST_SLICE = 1000
_PREFERENCE = ("\n\n", "\n", ". ", " ")
_QUESTION_MARKS = ("?", "\uff1f", "\u061f")
# Who speaks, at the beginning of a line of a conversation: "Sarah Miller: yes".
_SPEAKER = re.compile(r"\s*([^\W\d_][\w.'\u2019-]{0,31}(?: [\w.'\u2019-]{1,32}){0,2}):\s")


def passages_of(memory: Memory) -> tuple[Passage, ...]:
    """The passages of a memory: its content in slices, then the observations that hold; never none."""
    header = terms_of(" ".join((memory.title, memory.entity, *memory.tags, date_words(memory.date))))
    subject = terms_of(memory.entity)
    found: list[Passage] = []
    for observation, start, end in _spans(memory):
        if len(found) == PASSAGES_PER_MEMORY - 1:
            break
        text = text_of(memory, observation, start, end)
        terms = header + terms_of(text)
        if not found:
            terms += tuple(term for term in terms_of(memory.name) if term not in terms)
        found.append(
            Passage(
                ordinal=len(found),
                observation=observation,
                start=start,
                end=end,
                hash=text_hash(embedding_text(memory, observation, start, end)),
                terms=terms,
                who=subject or _speaker(text),
                asks=_asks(text),
            )
        )
    return tuple(found)


def text_of(memory: Memory, observation: int | None, start: int, end: int) -> str:
    """The words of a passage, taken from the memory it belongs to."""
    if observation is None:
        return memory.content[start:end] or memory.label
    return memory.observations[observation].text[start:end]


def embedding_text(memory: Memory, observation: int | None, start: int, end: int) -> str:
    """What is embedded of a passage: its words under the memory's title.

    The entity is left out on purpose: one text filed under three entities is embedded once.
    """
    text = text_of(memory, observation, start, end)
    return f"{memory.title}\n{text}" if memory.title and memory.title != text else text


def text_hash(text: str) -> bytes:
    """The key of a text among the vectors of a space and model."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:16]


def _speaker(text: str) -> tuple[str, ...]:
    found = _SPEAKER.match(text)
    return terms_of(found[1]) if found else ()


def _asks(text: str) -> int:
    if text.rstrip().endswith(_QUESTION_MARKS):
        return 2
    return int(any(mark in text for mark in _QUESTION_MARKS))


def _spans(memory: Memory) -> Iterator[tuple[int | None, int, int]]:
    # What was superseded is read, not found: whoever asks wants to know what holds.
    holding = [(index, one) for index, one in enumerate(memory.observations) if one.valid_until is None]
    if memory.content.strip() or not holding:
        for start, end in slices(memory.content):
            yield None, start, end
    for index, observation in holding:
        for start, end in slices(observation.text):
            yield index, start, end


def slices(text: str) -> Iterator[tuple[int, int]]:
    """Where to cut a text: at paragraphs if possible, else lines, sentences, words; at least one slice."""
    start = 0
    while len(text) - start > LONGEST_SLICE:
        end = _cut(text, start)
        yield start, end
        start = end
    yield start, len(text)


def _cut(text: str, start: int) -> int:
    latest = start + LONGEST_SLICE
    for mark in _PREFERENCE:
        # A cut in the first half would make slices too short to mean anything.
        at = text.rfind(mark, start + LONGEST_SLICE // 2, latest)
        if at >= 0:
            return at + len(mark)
    return latest
