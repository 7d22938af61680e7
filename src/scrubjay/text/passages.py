"""Passages of a memory: where its text is cut, and which text of each passage is embedded."""

import hashlib
import re
from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from scrubjay.model.media import media_type_in
from scrubjay.model.memory import Memory
from scrubjay.model.passage import PASSAGES_PER_MEMORY, SPOKEN, Passage
from scrubjay.text.dates.phrases import date_words
from scrubjay.text.languages import language_of
from scrubjay.text.opening import read_opening
from scrubjay.text.scripts import ascii_words
from scrubjay.text.slug import remove_suffix
from scrubjay.text.tokens import LANGUAGE_TERMS, stored_terms, terms_of

# The version of passages and terms. Raise it with every change: a store then rebuilds the passages of an older version.
SHAPE = 6
# The bundled model reads this much of a text: it would see only the beginning of a longer slice.
MAX_SLICE = 1000
_TELLING_OBSERVATIONS = 5
_CUT_MARKS = ("\n\n", "\n", ". ", " ")
_QUESTION_MARKS = ("?", "\uff1f", "\u061f")
# Before a letter or a digit it is a part of an address.
_QUESTION_MARK = re.compile("\\?(?!\\w)|[\uff1f\u061f]")
# Who says this talks to another. A small "i" is a word of other languages, and a name of many things.
_TALKING_WORDS = "you your ich du dir je tu toi yo t\u00fa io eu ik jij".split()
_TALKING = frozenset(["I", *_TALKING_WORDS, *map(str.capitalize, _TALKING_WORDS)])
_TALK = re.compile(rf"\b(?:{'|'.join(sorted(_TALKING))})\b")
_REPLYING = re.compile(
    r"(?:yes|yeah|no|ok|okay|sure|thanks|hi|hey|hello|ja|nein|oui|non|merci|s\u00ed|sim|nee)\b", re.IGNORECASE
)


def passages_of(memory: Memory, *, with_terms: bool = True) -> tuple[Passage, ...]:
    """Return the passages of a memory, at least one: slices of its content, then of the observations that hold.

    The memory of a picture has one more, with the vector of the picture; without words it has no other. Terms take most
    of the time, and what only embeds the passages does not need them.
    """
    language = language_of(_beginning(memory)) if with_terms else ""
    find_terms = partial(stored_terms, language=language) if with_terms else _no_terms
    header = find_terms(_header(memory)) if with_terms else ()
    mark = (LANGUAGE_TERMS[language],) if language in LANGUAGE_TERMS else ()
    subject = terms_of(memory.entity) if with_terms else ()
    passages: list[Passage] = []
    for observation, start, end in _spans(memory):
        if len(passages) == PASSAGES_PER_MEMORY - 1:
            break
        text = text_of(memory, observation, start, end)
        terms = header + find_terms(text) + mark
        if not passages:
            # The name and the category belong to the first passage only. The suffix of a name is no word of it.
            label = f"{remove_suffix(memory.name, memory.id)} {memory.category}"
            terms += tuple(term for term in find_terms(label) if term not in terms)
        passages.append(
            Passage(
                ordinal=len(passages),
                observation=observation,
                start=start,
                end=end,
                hash=text_hash(embedding_text(memory, observation, start, end)),
                terms=terms,
                who=subject or _speaker(text),
                asks=_asks(text) | (SPOKEN if _is_spoken(text, memory, subject) else 0),
            )
        )
    return _add_picture(memory, passages, header=header) if media_type_in(memory) else tuple(passages)


def _header(memory: Memory) -> str:
    """Return the words by which every passage of a memory is found."""
    return " ".join((memory.title, memory.entity, *memory.tags, date_words(memory.date)))


def _beginning(memory: Memory) -> str:
    """Return the text that tells the language of a memory."""
    return memory.content or " ".join(entry.text for entry in memory.observations[:_TELLING_OBSERVATIONS])


def _no_terms(_: str) -> tuple[str, ...]:
    return ()


def _add_picture(memory: Memory, passages: list[Passage], *, header: tuple[str, ...]) -> tuple[Passage, ...]:
    picture = picture_hash(memory)
    if not memory.content.strip() and passages[0].observation is None:
        # A name alone is no text about the picture.
        return (replace(passages[0], hash=picture),)
    end = len(memory.content)
    passage = Passage(ordinal=len(passages), observation=None, start=end, end=end, hash=picture, terms=header)
    return (*passages, replace(passage, who=passages[0].who))


def picture_hash(memory: Memory) -> bytes:
    """Return the vector key of a memory's picture, so that it is embedded once; empty without a picture."""
    # No text has a NUL in it, so that no text has the key of a picture.
    return text_hash(f"\x00{memory.metadata['sha256']}") if media_type_in(memory) else b""


def text_of(memory: Memory, observation: int | None, start: int, end: int) -> str:
    """Return the text of a passage, from its memory."""
    if observation is None:
        return memory.content[start:end] or memory.label
    return memory.observations[observation].text[start:end]


def embedding_text(memory: Memory, observation: int | None, start: int, end: int) -> str:
    """Return the text to embed for a passage: its words under the memory's title.

    The entity is left out on purpose: the same text of three entities is embedded once.
    """
    text = text_of(memory, observation, start, end)
    # A date before a text would make all texts of a day alike; the passage has it as its own date.
    text = text if start else text[read_opening(text).end :]
    return f"{memory.title}\n{text}" if memory.title and memory.title != text else text


def text_hash(text: str) -> bytes:
    """Return the key of a text among the vectors of a space and model."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:16]


def _speaker(text: str) -> tuple[str, ...]:
    return terms_of(read_opening(text).speaker)


def _asks(text: str) -> int:
    if text.rstrip().endswith(_QUESTION_MARKS):
        return 2
    may_ask = "?" in text or not text.isascii()
    return int(may_ask and _QUESTION_MARK.search(text) is not None)


def _is_talk(text: str) -> bool:
    if text.isascii() and "_" not in text:
        return not _TALKING.isdisjoint(ascii_words(text))
    return _TALK.search(text) is not None


def _is_spoken(text: str, memory: Memory, subject: tuple[str, ...]) -> bool:
    """Whether a text is a turn of a conversation: a dated line or one of its subject, or talk in a session.

    "Warranty: three years" only has the form of a line.
    """
    opening = read_opening(text)
    if opening.speaker and (opening.at is not None or (subject and _speaker(text) == subject)):
        return True
    if not memory.source.session:
        return False
    rest = text[opening.end :].partition(":")[2].lstrip() if opening.speaker else ""
    return _asks(text) > 0 or _is_talk(text) or _REPLYING.match(rest) is not None


def _spans(memory: Memory) -> Iterator[tuple[int | None, int, int]]:
    # Superseded observations can be read, but a search does not find them. The time of the version decides, not the
    # clock, so that a version has the same passages at all times; a search drops observations that ended since.
    written = memory.updated_at
    holding = [(index, entry) for index, entry in enumerate(memory.observations) if entry.holds(written)]
    if memory.content.strip() or not holding:
        for start, end in slices(memory.content):
            yield None, start, end
    for index, observation in holding:
        for start, end in slices(observation.text):
            yield index, start, end


def slices(text: str) -> Iterator[tuple[int, int]]:
    """Cut a text at paragraphs if possible, else at lines, sentences or words; return at least one slice."""
    start = 0
    while len(text) - start > MAX_SLICE:
        end = _cut(text, start)
        yield start, end
        start = end
    yield start, len(text)


def _cut(text: str, start: int) -> int:
    latest = start + MAX_SLICE
    for mark in _CUT_MARKS:
        # A cut in the first half would make slices too short to have a meaning.
        at = text.rfind(mark, start + MAX_SLICE // 2, latest)
        if at >= 0:
            return at + len(mark)
    return latest
