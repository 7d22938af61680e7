"""What several memories share: the statements that enough of them make, and the steps that they take in one order.

Nothing is put into other words: each statement is that of a memory, and is traced to all that make it.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from scrubjay.detection.boilerplate import Boilerplate, is_formal
from scrubjay.lazy import dataclass
from scrubjay.model.conflict import ConflictType
from scrubjay.model.memory import Memory
from scrubjay.text.claims.compare import compare, may_be_duplicate
from scrubjay.text.claims.statements import comparison_key, statements_of
from scrubjay.text.tokens import running_terms_of

__all__ = ["ENOUGH", "Shared", "claims_of_memory", "common_steps", "find_shared", "is_covered", "steps_of"]

ENOUGH = 3
"""So many memories that share something make it general."""

# Memories are similar if they share so much of what they say.
_MAIN_PART = 0.5
# Fewer steps are no procedure.
_MIN_STEPS = 2
# Of a long text the beginning is compared, and of a large group the first memories.
_MAX_STATEMENTS = 40
_MAX_COMPARED = 12
_MAX_CONTENT = 20_000
# Statements with fewer words in common are not compared.
_MIN_OVERLAP = 0.5
# A statement of fewer words, such as thanks, is general without being knowledge.
_MIN_TERMS = 4
_ITEM = re.compile(r"\s{0,6}(?:[-*+\u2022]|\d{1,3}[.)])\s+(?:\[.\]\s+)?(?=\S)")
_SEQUENCE = re.compile(
    r"(?:first(?:ly)?|second(?:ly)?|third(?:ly)?|then|next|after(?:wards| that)|finally|lastly|step \d+|zuerst|dann"
    r"|danach|schlie\u00dflich|primero|luego|despu\u00e9s|finalmente|d'abord|ensuite|puis|enfin)\b[,:]?\s*(?:i\s+|we\s+)?",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Shared:
    """What memories share: `statements` with the ids of the memories that make each, and `steps` in their order.

    `heading` has the line that they begin with, before their steps, if they share one.
    """

    statements: Mapping[str, tuple[str, ...]]
    steps: Mapping[str, tuple[str, ...]]
    heading: Mapping[str, tuple[str, ...]]

    @property
    def sources(self) -> dict[str, tuple[str, ...]]:
        """All of it, the heading and the steps first, with the memories that each comes from."""
        return {**self.heading, **self.steps, **self.statements}

    @property
    def ids(self) -> tuple[str, ...]:
        """The memories that share something."""
        sources = (*self.steps.values(), *self.statements.values())
        return tuple(dict.fromkeys(memory_id for ids in sources for memory_id in ids))


def find_shared(memories: Sequence[Memory]) -> Shared:
    """Return what enough of some memories share."""
    steps = common_steps({memory.id: steps_of(memory) for memory in memories})
    heading = _common_heading(memories, steps)
    general = {_step_key(text) for text in (*heading, *steps)}
    groups: list[tuple[str, list[str]]] = []
    by_key: dict[str, int] = {}
    for memory in memories:
        for text in claims_of_memory(memory):
            if _step_key(text) in general:
                continue
            place = by_key.get(comparison_key(text))
            if place is None:
                place = next((at for at, (other, _) in enumerate(groups) if _say_the_same(text, other)), None)
            if place is None:
                place = len(groups)
                groups.append((text, []))
            by_key[comparison_key(text)] = place
            groups[place][1].append(memory.id)
    stated = {text: tuple(dict.fromkeys(ids)) for text, ids in groups}
    return Shared(statements=_of_similar(stated), steps=steps, heading=heading)


def _of_similar(stated: Mapping[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
    """Return the statements that enough memories make, each of which says little else.

    A memory that makes one of them in passing is about something else: the new memory would not stand for it, and would
    only come before others in a search. A short statement counts for what they share, and is not worth a memory.
    """
    words = {text: len(running_terms_of(text)) for text in stated}
    totals = _count_words(stated, words)
    shared = dict(stated)
    while True:
        shared = {text: ids for text, ids in shared.items() if len(ids) >= ENOUGH}
        counts = _count_words(shared, words)
        similar = {
            text: tuple(each for each in ids if counts[each] >= _MAIN_PART * totals[each])
            for text, ids in shared.items()
        }
        if similar == shared:
            return {text: ids for text, ids in shared.items() if _is_telling(text)}
        shared = similar


def _count_words(stated: Mapping[str, tuple[str, ...]], words: Mapping[str, int]) -> Counter[str]:
    """Return how many words of some statements each memory has."""
    counts: Counter[str] = Counter()
    for text, ids in stated.items():
        counts.update(dict.fromkeys(ids, words[text]))
    return counts


def claims_of_memory(memory: Memory) -> list[str]:
    """Return the statements of a memory that claim something: its content's and its observations."""
    statements = statements_of(memory.content[:_MAX_CONTENT])
    texts = [Boilerplate().without_heading(text) for text in statements if not is_formal(memory, text)]
    # What stands right above a list is a statement with it.
    lines = [
        line for text in texts for line in (text.splitlines() if any(map(_is_step, text.splitlines())) else [text])
    ]
    return [*lines, *(observation.text for observation in memory.observations)][:_MAX_STATEMENTS]


def is_covered(memory: Memory, texts: Iterable[str]) -> bool:
    """Check whether some texts say all that a memory does: then it may leave recall, and nothing is missing there."""
    stated = list(texts)
    keys = {comparison_key(text) for text in stated} | {_step_key(text) for text in stated}
    if len(memory.content) > _MAX_CONTENT or (memory.title and not _is_said(memory.title, stated)):
        return False
    return all(
        comparison_key(text) in keys or _step_key(text) in keys or any(_say_the_same(text, other) for other in stated)
        for text in claims_of_memory(memory)
    )


def steps_of(memory: Memory) -> tuple[str, ...]:
    """Return the steps that a memory describes: items of its lists, and sentences that say their place in an order."""
    steps = [
        text
        for statement in statements_of(memory.content[:_MAX_CONTENT])
        for text in statement.splitlines()
        if _is_step(text)
    ]
    return tuple(steps[:_MAX_STATEMENTS])


def common_steps(steps: Mapping[str, Sequence[str]]) -> dict[str, tuple[str, ...]]:
    """Return the longest sequence of steps that enough memories take in the same order, with their ids."""
    able = {memory_id: tuple(map(_step_key, own)) for memory_id, own in steps.items() if len(own) >= _MIN_STEPS}
    words = {_step_key(step): step for own in reversed([*steps.values()]) for step in own}
    compared = [*able.values()][:_MAX_COMPARED]
    candidates = {
        _longest_common(first, second) for at, first in enumerate(compared) for second in compared[at + 1 :]
    }  # fmt: skip
    best: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())
    for candidate in sorted(candidates, key=lambda each: (-len(each), each)):
        ids = tuple(memory_id for memory_id, own in able.items() if _is_subsequence(candidate, own))
        if len(candidate) >= _MIN_STEPS and len(ids) >= ENOUGH and len(candidate) > len(best[0]):
            best = (candidate, ids)
    return {_without_mark(words[key]): best[1] for key in best[0]}


def _common_heading(memories: Sequence[Memory], steps: Mapping[str, Sequence[str]]) -> dict[str, tuple[str, ...]]:
    """Return the line before the steps with which enough of the memories that take them begin."""
    sharing = {memory_id for ids in steps.values() for memory_id in ids}
    firsts = {memory.id: memory.content.strip().partition("\n")[0] for memory in memories if memory.id in sharing}
    headings = {memory_id: _step_key(line) for memory_id, line in firsts.items() if line and not _is_step(line)}
    for key, count in Counter(headings.values()).most_common(1):
        ids = tuple(memory_id for memory_id, own in headings.items() if own == key)
        return {firsts[ids[0]]: ids} if count >= ENOUGH else {}
    return {}


def _is_step(line: str) -> bool:
    return bool(_ITEM.match(line) or _SEQUENCE.match(line))


def _is_telling(text: str) -> bool:
    """Check that a statement says something by itself: neither a question nor a few words, as in greetings."""
    return not text.rstrip(" *_\"'").endswith(("?", "!")) and len(set(running_terms_of(text))) >= _MIN_TERMS


def _say_the_same(text: str, other: str) -> bool:
    terms, others = set(running_terms_of(text)), set(running_terms_of(other))
    if len(terms & others) < _MIN_OVERLAP * max(1, len(terms), len(others)):
        return False
    if not may_be_duplicate(text, other, cosine=None):
        return False
    finding = compare(text, other, cosine=None)
    return finding is not None and finding.type is ConflictType.DUPLICATE


def _is_said(title: str, texts: Sequence[str]) -> bool:
    terms = {term for text in texts for term in running_terms_of(text)}
    return terms.issuperset(running_terms_of(title))


def _without_mark(step: str) -> str:
    bare = _ITEM.sub("", step, count=1)
    plain = _SEQUENCE.sub("", bare, count=1).strip() or bare
    return plain[:1].upper() + plain[1:]


def _step_key(step: str) -> str:
    return comparison_key(_without_mark(step)).casefold()


def _longest_common(first: Sequence[str], second: Sequence[str]) -> tuple[str, ...]:
    """Return the longest sequence of steps that both have in order, each of them once."""
    rows: list[list[tuple[str, ...]]] = [[()] * (len(second) + 1)]
    for step in first:
        row: list[tuple[str, ...]] = [()]
        for at, other in enumerate(second):
            before = rows[-1][at]
            joined = (*before, step) if step == other and step not in before else ()
            row.append(max(joined, rows[-1][at + 1], row[-1], key=len))
        rows.append(row)
    return rows[-1][-1]


def _is_subsequence(steps: Sequence[str], own: Sequence[str]) -> bool:
    rest = iter(own)
    return all(step in rest for step in steps)
