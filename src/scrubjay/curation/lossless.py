"""The nothing-lost check: an answer may join and order statements anew, and must say all of them, and no more.

What belongs together is told by statements: each statement of the answer must be made of whole statements that were
given, each with all its words in their order. So it refuses many a good answer, and takes none that mixes things up.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from scrubjay.curation.normal_form import Saying, Word, is_same, sayings_of
from scrubjay.text.claims.extract import added_claims, lost_claims

_SHOWN = 3
_LONGEST_SHOWN = 60


def unfaithful(inputs: Sequence[str], output: str, *, beside: Sequence[str] = ()) -> str:
    """Why an answer is not what it was given, for people; empty when it is.

    All of `inputs` must be in it, and nothing that is neither there nor in `beside`.
    """
    if not output.strip():
        return "it is empty"
    if missing := lost_claims(inputs, output):
        return f"it lost {_few(missing)}"
    if invented := added_claims((*inputs, *beside), output):
        return f"it invented {_few(invented)}"
    given = [_Source(*precede, is_input=True) for text in inputs for precede in _with_what_precedes(text)]
    near = [_Source(*precede, is_input=False) for text in beside for precede in _with_what_precedes(text)]
    said = sayings_of(output)
    return _other_words(given, near, said) or _otherwise_joined([*given, *near], said)


@dataclass(frozen=True, slots=True)
class _Source:
    """A statement that was given, and the one before it in its text."""

    saying: Saying
    precedes: Saying | None
    is_input: bool


def _with_what_precedes(text: str) -> Iterator[tuple[Saying, Saying | None]]:
    before: Saying | None = None
    for saying in sayings_of(text):
        yield saying, before
        before = saying


def _other_words(given: Sequence[_Source], near: Sequence[_Source], said: Sequence[Saying]) -> str:
    wanted = {key for one in given for key in one.saying.keys}
    known = wanted | {key for one in near for key in one.saying.keys}
    there = {key for one in said for key in one.keys}
    if gone := sorted(wanted - there):
        return f"it lost the words {_few(gone)}"
    return f"it brought the words {_few(new)}" if (new := sorted(there - known)) else ""


def _otherwise_joined(sources: Sequence[_Source], said: Sequence[Saying]) -> str:
    """Why the statements of an answer are not made of those that were given."""
    told: list[_Source] = []
    starts = _by_start(sources)
    for saying in said:
        found = _made_of(saying.words, starts, before=told[-1] if told else None)
        if found is None:
            return f"it puts together otherwise: {_shown(saying.text)}"
        told += found
    keys = {one.saying.keys for one in told}
    missing = [source.saying.text for source in sources if source.is_input and source.saying.keys not in keys]
    return f"it lost: {_shown(missing[0])}" if missing else ""


def _by_start(sources: Sequence[_Source]) -> dict[str, list[_Source]]:
    """The statements by the words that they may begin with: their first, or without it their second."""
    found: dict[str, dict[tuple[object, ...], _Source]] = {}
    for source in sources:
        precedes = source.precedes.keys if source.precedes else None
        for key in source.saying.keys[:2]:
            found.setdefault(key, {}).setdefault((source.saying.keys, precedes, source.is_input), source)
    return {key: list(group.values()) for key, group in found.items()}


def _made_of(
    words: Sequence[Word], starts: Mapping[str, Sequence[_Source]], *, before: _Source | None
) -> list[_Source] | None:
    """The statements that words are made of, one behind the other; None when they are not."""
    # Where one may end, and how it was come there: the one that ends there and where it begins.
    reached: dict[int, tuple[int, _Source | None]] = {0: (0, before)}
    for start in range(len(words)):
        if start not in reached:
            continue
        last = reached[start][1]
        for source in starts.get(words[start].key, ()):
            end = _end_of(source, words, start=start, last=last)
            if end and end not in reached:
                reached[end] = (start, source)
    if len(words) not in reached:
        return None
    found: list[_Source] = []
    at = len(words)
    while at:
        at, source = reached[at]
        found += [source] if source else []
    return found[::-1]


def _end_of(source: _Source, words: Sequence[Word], *, start: int, last: _Source | None) -> int:
    """Where a statement ends that begins at a place among words; 0 when it is not there."""
    end = _told_until(source.saying.words, words, start=start, last=last)
    if not end or (start and last and not _may_join(last.saying, source.saying)):
        return 0
    return 0 if source.saying.points_back and not _follows(source, last) else end


def _told_until(given: Sequence[Word], words: Sequence[Word], *, start: int, last: _Source | None) -> int:
    end = start + len(given)
    if is_same(words[start:end], given):
        return end
    # Who does several things is named once: `Ann came and went`.
    same_subject = start and last and given[0].firm and last.saying.keys[0] == given[0].key and len(given) > 1
    return end - 1 if same_subject and is_same(words[start : end - 1], given[1:]) else 0


def _may_join(first: Saying, second: Saying) -> bool:
    """Whether two statements say the same in one sentence as in two."""
    return not (first.rules_on or first.stands_alone or second.stands_alone or second.leads)


def _follows(source: _Source, last: _Source | None) -> bool:
    """Whether what a statement points back to stands before it still."""
    if source.precedes is None:
        return last is None and source.is_input
    return last is not None and last.saying.keys == source.precedes.keys


def _few(found: Sequence[str]) -> str:
    shown = ", ".join(one[:_LONGEST_SHOWN] for one in found[:_SHOWN])
    return f"{shown} and {len(found) - _SHOWN} more" if len(found) > _SHOWN else shown


def _shown(text: str) -> str:
    plain = " ".join(text.split())
    return plain if len(plain) <= _LONGEST_SHOWN else f"{plain[:_LONGEST_SHOWN]}\u2026"
