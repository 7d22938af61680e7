"""Memories to passages: where the slices are cut, and what is embedded of each."""

import hashlib
import re
from collections.abc import Iterator
from dataclasses import replace

from scrubjay.model.media import media_type_in
from scrubjay.model.memory import Memory
from scrubjay.model.passage import PASSAGES_PER_MEMORY, Passage
from scrubjay.text.dates.phrases import date_words
from scrubjay.text.tokens import terms_of

# How texts are taken apart. Raised with every change of it: stores then read anew what they know in the old way.
SHAPE = 3
# What the bundled model reads of a text; a longer slice would be found by its beginning only.
LONGEST_SLICE = 1000
_PREFERENCE = ("\n\n", "\n", ". ", " ")
_QUESTION_MARKS = ("?", "\uff1f", "\u061f")
# Who speaks, at the beginning of a line of a conversation: "Sarah Miller: yes".
_SPEAKER = re.compile(r"\s*([^\W\d_][\w.'\u2019-]{0,31}(?: [\w.'\u2019-]{1,32}){0,2}):\s")


def passages_of(memory: Memory) -> tuple[Passage, ...]:
    """The passages of a memory: its content in slices, then the observations that hold; never none.

    What stands for a picture has one more, whose vector is that of the picture; without words it has no other.
    """
    header = terms_of(" ".join((memory.title, memory.entity, *memory.tags, date_words(memory.date))))
    subject = terms_of(memory.entity)
    found: list[Passage] = []
    for observation, start, end in _spans(memory):
        if len(found) == PASSAGES_PER_MEMORY - 1:
            break
        text = text_of(memory, observation, start, end)
        terms = header + terms_of(text)
        if not found:
            # What it is called and filed under is said once, not with each part of it.
            terms += tuple(term for term in terms_of(f"{memory.name} {memory.category}") if term not in terms)
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
    return _with_picture(memory, found, header=header) if media_type_in(memory) else tuple(found)


def _with_picture(memory: Memory, found: list[Passage], *, header: tuple[str, ...]) -> tuple[Passage, ...]:
    picture = picture_hash(memory)
    if not memory.content.strip() and found[0].observation is None:
        # A name alone is no words about it.
        return (replace(found[0], hash=picture),)
    end = len(memory.content)
    more = Passage(ordinal=len(found), observation=None, start=end, end=end, hash=picture, terms=header)
    return (*found, replace(more, who=found[0].who))


def picture_hash(memory: Memory) -> bytes:
    """The key of the picture that a memory stands for among the vectors: one picture is embedded once. Else nothing."""
    # No text has a NUL in it, so that none can pass for a picture.
    return text_hash(f"\x00{memory.metadata['sha256']}") if media_type_in(memory) else b""


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
    # What was superseded is read, not found: whoever asks wants to know what holds. The clock is not asked, for a
    # version is taken apart in the same way whenever that is; what comes to its end later is left out by who finds it.
    written = memory.updated_at
    holding = [(index, one) for index, one in enumerate(memory.observations) if one.holds(written)]
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
