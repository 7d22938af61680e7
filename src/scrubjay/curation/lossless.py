"""The lossless check: an answer may join and reorder statements, and must contain all of them and no others.

Each statement of the answer must consist of whole given statements, each with all its words in order. Of several
wordings that differ only in the place of a time, one is enough. The check
therefore refuses many good answers, and accepts none that mixes facts up.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence

from scrubjay.curation.normal_form import (
    NormalStatement,
    NormalWord,
    is_reworded,
    is_same,
    normalize_lines,
    normalize_statements,
)
from scrubjay.lazy import dataclass
from scrubjay.text.claims.extract import added_claims, lost_claims

_Splitter = Callable[[str], list[NormalStatement]]
_MAX_ITEMS = 3
_MAX_LENGTH = 60


def find_unfaithful(inputs: Sequence[str], output: str, *, context: Sequence[str] = ()) -> str:
    """Return why an answer is not faithful to its inputs, for people; empty if it is.

    It must contain all of `inputs`, and nothing that is neither there nor in `context`.
    """
    if not output.strip():
        return "it is empty"
    if missing := lost_claims(inputs, output):
        return f"it lost {_enumerate(missing)}"
    if invented := added_claims((*inputs, *context), output):
        return f"it invented {_enumerate(invented)}"
    reason = _compare(inputs, output, context=context, split=normalize_statements)
    # Lines that are sentences without a full stop: the answer may have set it.
    return reason and _compare(inputs, output, context=context, split=normalize_lines) and reason


def _compare(inputs: Sequence[str], output: str, *, context: Sequence[str], split: _Splitter) -> str:
    required = [source for text in inputs for source in _sources(split(text), is_input=True)]
    optional = [source for text in context for source in _sources(split(text), is_input=False)]
    statements = split(output)
    return _compare_words(required, optional, statements) or _compare_statements([*required, *optional], statements)


@dataclass(frozen=True, slots=True)
class _SourceStatement:
    """A given statement, and the one before it in its text."""

    statement: NormalStatement
    previous: NormalStatement | None
    is_input: bool


def _sources(statements: Sequence[NormalStatement], *, is_input: bool) -> Iterator[_SourceStatement]:
    previous: NormalStatement | None = None
    for statement in statements:
        yield _SourceStatement(statement, previous, is_input)
        previous = statement


def _compare_words(
    required: Sequence[_SourceStatement], optional: Sequence[_SourceStatement], statements: Sequence[NormalStatement]
) -> str:
    required_keys = {key for source in required for key in source.statement.keys}
    allowed_keys = required_keys | {key for source in optional for key in source.statement.keys}
    answer_keys = {key for statement in statements for key in statement.keys}
    if lost := sorted(required_keys - answer_keys):
        return f"it lost the words {_enumerate(lost)}"
    return f"it added the words {_enumerate(added)}" if (added := sorted(answer_keys - allowed_keys)) else ""


def _compare_statements(sources: Sequence[_SourceStatement], statements: Sequence[NormalStatement]) -> str:
    """Return why the statements of an answer do not consist of the given ones; empty if they do."""
    used: list[_SourceStatement] = []
    by_start = _group_by_start(sources)
    for statement in statements:
        parts = _split(statement.words, by_start, previous=used[-1] if used else None)
        if parts is None:
            return f"it combines differently: {_shorten(statement.text)}"
        used += parts
    used_keys = {source.statement.keys for source in used}
    missing = [
        source.statement.text
        for source in sources
        if source.is_input
        and source.statement.keys not in used_keys
        and not any(is_reworded(source.statement, other.statement) for other in used)
    ]
    return f"it lost: {_shorten(missing[0])}" if missing else ""


def _group_by_start(sources: Sequence[_SourceStatement]) -> dict[str, list[_SourceStatement]]:
    """Group statements by the words that they may begin with: the first, or the second if the first is left out."""
    groups: dict[str, dict[tuple[object, ...], _SourceStatement]] = {}
    for source in sources:
        previous = source.previous.keys if source.previous else None
        for key in source.statement.keys[:2]:
            groups.setdefault(key, {}).setdefault((source.statement.keys, previous, source.is_input), source)
    return {key: list(group.values()) for key, group in groups.items()}


def _split(
    words: Sequence[NormalWord],
    by_start: Mapping[str, Sequence[_SourceStatement]],
    *,
    previous: _SourceStatement | None,
) -> list[_SourceStatement] | None:
    """Split words into given statements; None if that is impossible."""
    # By each reachable position, the start and the source of the statement that ends there.
    reached: dict[int, tuple[int, _SourceStatement | None]] = {0: (0, previous)}
    for start in range(len(words)):
        if start not in reached:
            continue
        last = reached[start][1]
        for source in by_start.get(words[start].key, ()):
            end = _match_end(source, words, start=start, last=last)
            if end and end not in reached:
                reached[end] = (start, source)
    if len(words) not in reached:
        return None
    parts: list[_SourceStatement] = []
    position = len(words)
    while position:
        position, source = reached[position]
        parts += [source] if source else []
    return parts[::-1]


def _match_end(
    source: _SourceStatement, words: Sequence[NormalWord], *, start: int, last: _SourceStatement | None
) -> int:
    """Return the end of a statement that matches words from a position on; 0 if it does not match."""
    end = _match_words(source.statement.words, words, start=start, last=last)
    if not end or (start and last and not _may_join(last.statement, source.statement)):
        return 0
    return 0 if source.statement.refers_back and not _follows(source, last) else end


def _match_words(
    statement: Sequence[NormalWord], words: Sequence[NormalWord], *, start: int, last: _SourceStatement | None
) -> int:
    end = start + len(statement)
    if is_same(words[start:end], statement):
        return end
    # A subject of several statements may be named once: `Ann came and went`.
    has_same_subject = (
        start and last and statement[0].is_firm and last.statement.keys[0] == statement[0].key and len(statement) > 1
    )
    return end - 1 if has_same_subject and is_same(words[start : end - 1], statement[1:]) else 0


def _may_join(first: NormalStatement, second: NormalStatement) -> bool:
    """Return whether two statements mean the same in one sentence as in two."""
    return not (first.governs_following or first.is_standalone or second.is_standalone or second.has_governing_start)


def _follows(source: _SourceStatement, last: _SourceStatement | None) -> bool:
    """Return whether the statement that this one refers back to still precedes it."""
    if source.previous is None:
        return last is None and source.is_input
    return last is not None and last.statement.keys == source.previous.keys


def _enumerate(items: Sequence[str]) -> str:
    shown = ", ".join(item[:_MAX_LENGTH] for item in items[:_MAX_ITEMS])
    return f"{shown} and {len(items) - _MAX_ITEMS} more" if len(items) > _MAX_ITEMS else shown


def _shorten(text: str) -> str:
    plain = " ".join(text.split())
    return plain if len(plain) <= _MAX_LENGTH else f"{plain[:_MAX_LENGTH]}\u2026"
