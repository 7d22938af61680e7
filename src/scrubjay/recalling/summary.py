"""`summarize`: the central statements of the memories that pass a filter, each with its date and its source.

A statement is central if it is near the middle of all of them; each next one must also differ from those before. No
statement is changed, so that nothing can be invented; a language model may only join them, and is checked.
"""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from scrubjay.errors import EmbeddingUnavailable, InvalidInput, LlmUnavailable
from scrubjay.lazy import dataclass
from scrubjay.lookup.references import TolerantReader
from scrubjay.model.checks import require_integer
from scrubjay.model.decay import relevance_at
from scrubjay.model.labels import mark, source_at
from scrubjay.model.memory import Flag, Memory
from scrubjay.model.passage import Passage, Vector
from scrubjay.model.requests import SummarizeRequest
from scrubjay.model.results import Summary, SummaryStatement
from scrubjay.ports import Embedder, RecordStore
from scrubjay.recalling.collapse import passes
from scrubjay.text.cost import end_within, estimate_tokens
from scrubjay.text.passages import passages_of, text_of

# The latest memories are read, up to so many, and of them so many statements are compared.
_MAX_MEMORIES = 400
_MAX_STATEMENTS = 1_500
_MAX_PER_MEMORY = 12
_STATEMENT_TOKENS = 80
# How much likeness to what was chosen counts against a statement.
_LIKENESS = 0.9
# Relevance decides between statements that are alike, not what the memories are about.
_RELEVANCE = 0.2
# A language model makes a text of at least so many statements, and has so long for it.
_MIN_JOINED = 2
_MODEL_SECONDS = 20.0
_Matrix = NDArray[np.float32]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Candidate:
    memory: Memory
    passage: Passage
    text: str
    date: datetime


async def summarize(
    request: SummarizeRequest, *, space: str, now: datetime, store: RecordStore, embedder: Embedder
) -> Summary:
    """Return the central statements of the latest memories that pass a filter, oldest first."""
    require_integer(request.limit, field="limit")
    require_integer(request.max_tokens, field="max_tokens")
    if request.filter.is_empty:
        raise InvalidInput(
            "say what to summarize", hint="Give a tag, an entity, a project or a period (since, until)", field="filter"
        )
    ids = await store.list_ids(space, request.filter, limit=_MAX_MEMORIES + 1)
    memories = [
        memory
        for memory in await TolerantReader(store, space=space).get(ids[:_MAX_MEMORIES])
        if passes(memory, request.filter, now=now) and Flag.SUSPICIOUS not in memory.flags
    ]
    candidates = list(_candidates(memories, now=now))[:_MAX_STATEMENTS]
    vectors = await _vectors(
        [candidate.passage.hash for candidate in candidates], space=space, store=store, by=embedder
    )
    order = await asyncio.to_thread(_choose, candidates, vectors, limit=request.limit, now=now)
    chosen, tokens = _fit([candidates[place] for place in order], max_tokens=request.max_tokens)
    return Summary(
        statements=tuple(chosen), memories=len(memories), more=len(ids) > _MAX_MEMORIES, tokens=tokens,
        text="\n".join(map(_line, chosen)),
    )  # fmt: skip


async def as_prose(summary: Summary, *, join: Callable[[Sequence[str]], Awaitable[str]] | None) -> Summary:
    """Return a summary as one text, if `join` makes one of its statements in time; else with the reason why not.

    It joins the statements of one kind of source, the most frequent; others stay quotations, since a text of all would
    hide whose word each is.
    """
    marks = Counter(statement.mark for statement in summary.statements)
    mark = marks.most_common(1)[0][0] if marks else ""
    alike = [statement for statement in summary.statements if statement.mark == mark]
    if len(alike) < _MIN_JOINED:
        return summary
    if join is None:
        return replace(summary, degraded=("there is no language model: the statements are quoted",))
    try:
        async with asyncio.timeout(_MODEL_SECONDS):
            joined = await join([statement.text for statement in alike])
    except (LlmUnavailable, TimeoutError) as error:
        why = error.message if isinstance(error, LlmUnavailable) else "the model did not answer in time"
        return replace(summary, degraded=(f"{why}: the statements are quoted",))
    whose = f" ({mark})" if mark else ""
    sources = ", ".join(f"{statement.name} {statement.date.date().isoformat()}" for statement in alike)
    others = [_line(statement) for statement in summary.statements if statement.mark != mark]
    text = "\n".join((f"{joined}{whose} [{sources}]", *others))
    return replace(summary, text=text, tokens=estimate_tokens(text))


def _candidates(memories: Sequence[Memory], *, now: datetime) -> Iterator[_Candidate]:
    """Yield the statements that hold, each text once."""
    seen: set[bytes] = set()
    for memory in memories:
        for passage in passages_of(memory)[:_MAX_PER_MEMORY]:
            text = " ".join(text_of(memory, passage.observation, passage.start, passage.end).split())
            observation = None if passage.observation is None else memory.observations[passage.observation]
            if passage.hash in seen or not text or (observation is not None and not observation.holds(now)):
                continue
            seen.add(passage.hash)
            date = memory.date if observation is None else observation.recorded_at
            yield _Candidate(memory=memory, passage=passage, text=text, date=date)


async def _vectors(
    hashes: Sequence[bytes], *, space: str, store: RecordStore, by: Embedder
) -> Mapping[bytes, Vector]:  # fmt: skip
    try:
        return await store.vectors(space, (await by.profile()).model, hashes) if hashes else {}
    except EmbeddingUnavailable:
        return {}


def _choose(
    candidates: Sequence[_Candidate], vectors: Mapping[bytes, Vector], *, limit: int, now: datetime
) -> list[int]:  # fmt: skip
    """Return the places of the central statements, best first."""
    if not candidates:
        return []
    if all(candidate.passage.hash in vectors for candidate in candidates):
        matrix = np.stack([vectors[candidate.passage.hash] for candidate in candidates])
    else:
        # Without a model, or while vectors are missing, words stand for the meaning.
        matrix = _term_vectors([candidate.passage.terms for candidate in candidates])
    middle = matrix.mean(axis=0)
    centrality = matrix @ (middle / max(float(np.linalg.norm(middle)), 1e-9))
    relevance = [relevance_at(candidate.memory, now) for candidate in candidates]
    scores = centrality + _RELEVANCE * np.array(relevance, dtype=np.float32)
    likeness = np.full(len(candidates), -1.0, dtype=np.float32)
    chosen: list[int] = []
    while len(chosen) < min(limit, len(candidates)):
        marginal = scores - _LIKENESS * np.maximum(likeness, 0.0)
        marginal[chosen] = -np.inf
        best = int(np.argmax(marginal))
        chosen.append(best)
        likeness = np.maximum(likeness, matrix @ matrix[best])
    return chosen


def _term_vectors(texts: Sequence[Sequence[str]]) -> _Matrix:
    numbers: dict[str, int] = {}
    rows = [[numbers.setdefault(term, len(numbers)) for term in terms] for terms in texts]
    # Folded into a fixed width, so that many long texts need little memory.
    width = min(max(len(numbers), 1), 2_048)
    matrix = np.zeros((len(texts), width), dtype=np.float32)
    for row, places in zip(matrix, rows, strict=True):
        for place in set(places):
            row[place % width] += 1.0
    return matrix / np.maximum(np.linalg.norm(matrix, axis=1, keepdims=True), 1e-9)


def _fit(chosen: Sequence[_Candidate], *, max_tokens: int) -> tuple[list[SummaryStatement], int]:
    """Return the best statements that fit into a budget, oldest first, and their cost."""
    statements: list[SummaryStatement] = []
    spent = 0
    for candidate in chosen:
        statement = _statement(candidate)
        cost = estimate_tokens(_line(statement))
        if spent + cost > max_tokens and statements:
            break
        statements.append(statement)
        spent += cost
    return sorted(statements, key=lambda statement: (statement.date, statement.id)), spent


def _statement(candidate: _Candidate) -> SummaryStatement:
    memory, text = candidate.memory, candidate.text
    end = end_within(text, tokens=_STATEMENT_TOKENS)
    return SummaryStatement(
        id=memory.id, name=memory.name, text=text if end >= len(text) else f"{text[:end].rstrip()} …",
        date=candidate.date, mark=mark(source_at(memory, candidate.passage.observation), memory.flags),
    )  # fmt: skip


def _line(statement: SummaryStatement) -> str:
    whose = f" ({statement.mark})" if statement.mark else ""
    return f"- {statement.date.date().isoformat()} {statement.text}{whose} [{statement.name}]"
