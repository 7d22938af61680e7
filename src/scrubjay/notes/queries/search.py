"""Find notes by words and meaning, list those due for review, and count categories.

Reviews ask the store, not the ledger of a folder: the store knows every note, also where there is no folder, or where a
file could not be written. A text cache holds the time of each note's last review and follows the change log, so that
only the first request reads every note.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from scrubjay.engine import Engine
from scrubjay.lazy import dataclass
from scrubjay.lookup.references import TolerantReader
from scrubjay.model.caller import Caller
from scrubjay.model.checks import require_integer
from scrubjay.model.media import ATTACHMENT
from scrubjay.model.memory import Memory, State
from scrubjay.model.notes import DueNote, DueNotes, NoteHit, NotesFound
from scrubjay.model.query import Filter, TextHit, TextsFound, category_lineage, category_path
from scrubjay.model.requests import Edit, RecallRequest, SearchNotesRequest, SearchTextRequest
from scrubjay.model.results import Hit, Written
from scrubjay.model.timestamps import to_iso, to_micros
from scrubjay.recalling.fulltext import has_any
from scrubjay.recalling.text_cache import TextView
from scrubjay.text.clauses import parse_clauses

__all__ = ["CategoryNode", "category_tree", "find_due_notes", "find_notes", "mark_reviewed"]

# A hit by meaning alone counts half as much as one with every word; a hit by both gets a small bonus.
_MEANING_WEIGHT, _MEANING_BONUS = 0.5, 0.3
_MAX_CATEGORIES = 10_000
# So many digits keep the texts of moments in order, including those before 1970.
_DIGITS, _SHIFT = 20, 10**18


# ---- search ----


async def find_notes(request: SearchNotesRequest, *, engine: Engine, who: Caller, offset: int = 0) -> NotesFound:
    """Return the notes with all or most of the words; with `semantic`, also notes of similar meaning.

    `offset` is the number of best hits to skip.
    """
    words = SearchTextRequest(
        query=request.query, filter=Filter(category=request.category, tags=request.tags), limit=request.limit,
        offset=offset,
    )  # fmt: skip
    who = replace(who, also=())
    if not request.semantic:
        texts = await engine.search_text(words, who=who)
        return NotesFound(results=tuple(map(_note_hit, texts.hits)), more=texts.more, degraded=texts.degraded)
    end = offset + require_integer(request.limit, field="limit")
    count = min(end, engine.limits.results)
    texts = await engine.search_text(replace(words, limit=count, offset=0), who=who)
    if not texts.words:
        return NotesFound(results=tuple(map(_note_hit, texts.hits[offset:])), more=texts.more, degraded=texts.degraded)
    question = RecallRequest(query=texts.words, filter=words.filter, limit=count)
    recalled = await engine.recall(question, who=who)
    relevant = [hit for hit in recalled.hits if not hit.weak]
    results = await _merge_hits(texts, relevant, query=request.query, engine=engine, space=who.space)
    return NotesFound(
        results=tuple(results[offset:end]),
        more=texts.more or bool(recalled.cursor) or len(results) > end,
        degraded=(*texts.degraded, *recalled.degraded),
    )


async def _merge_hits(
    texts: TextsFound, recalled: Sequence[Hit], *, query: str, engine: Engine, space: str
) -> list[NoteHit]:
    """Merge hits by words and by meaning, the best first and each note once."""
    best = max((hit.score for hit in recalled), default=0.0) or 1.0
    similarity = {hit.id: max(0.0, hit.score / best) for hit in recalled}
    by_words = [_note_hit(hit, similarity=similarity.get(hit.id)) for hit in texts.hits]
    text_ids = {hit.id for hit in texts.hits}
    others = {hit.id: hit for hit in recalled if hit.id not in text_ids}
    memories = await TolerantReader(engine.reader, space=space).get(list(others))
    excluded = parse_clauses(query).excluded
    by_meaning = [
        NoteHit(
            id=memory.id, title=memory.label, score=round(_MEANING_WEIGHT * similarity[memory.id], 4),
            snippet=others[memory.id].passage, category=memory.category, tags=memory.tags,
            updated_at=memory.updated_at, matched=("meaning",), mark=others[memory.id].mark,
        )
        for memory in memories
        if not has_any(memory, excluded, now=engine.clock.now())
    ]  # fmt: skip
    return sorted([*by_words, *by_meaning], key=lambda hit: -hit.score)


def _note_hit(hit: TextHit, *, similarity: float | None = None) -> NoteHit:
    score = hit.score if similarity is None else hit.score + (1 - hit.score) * _MEANING_BONUS * similarity
    matched = ("attachment",) if hit.kind == ATTACHMENT else hit.matched
    return NoteHit(
        id=hit.id,
        title=hit.title,
        score=round(score, 4),
        snippet=hit.snippet,
        category=hit.category,
        tags=hit.tags,
        updated_at=hit.updated_at,
        matched=matched if similarity is None else (*matched, "meaning"),
        mark=hit.mark,
    )


# ---- reviews ----


async def find_due_notes(
    *, engine: Engine, space: str, days: int = 90, limit: int = 20, category: str = ""
) -> DueNotes:  # fmt: skip
    """Return the notes that were reviewed, or else created, more than `days` days ago; the oldest first."""
    now = engine.clock.now()
    before, path = _time_key(now - timedelta(days=days)), category_path(category).casefold()
    prefix = f"{path}/" if path else ""
    texts = await engine.texts(_REVIEWS, space=space)
    reader = TolerantReader(engine.reader, space=space)
    oldest = sorted(
        (text, id_) for id_, text in texts.items() if text < before and f"{text[_DIGITS:]}/".startswith(prefix)
    )
    notes: list[DueNote] = []
    for start in range(0, len(oldest), limit):
        memories = await reader.get([id_ for _, id_ in oldest[start : start + limit]])
        for memory in memories:
            if memory.holds(now):
                reviewed = _review_time(memory)
                days_ago = max(0, (now - reviewed).days)
                notes.append(
                    DueNote(
                        id=memory.id, title=memory.label, last_reviewed=reviewed, days=days_ago,
                        category=memory.category,
                    )
                )  # fmt: skip
        if len(notes) >= limit:
            break
    return DueNotes(notes=tuple(notes[:limit]))


async def mark_reviewed(ref: str, *, engine: Engine, who: Caller) -> Written:
    """Record a review of a note; its content and its confidence stay the same."""
    fields = {"last_reviewed": to_iso(engine.clock.now())}
    return await engine.apply_edit(ref, Edit(fields={**fields}, message="reviewed"), who=who)


def _review_time(memory: Memory) -> datetime:
    return memory.last_reviewed or memory.created_at


def _time_key(moment: datetime) -> str:
    return f"{to_micros(moment) + _SHIFT:0{_DIGITS}d}"


def _review_text(memory: Memory) -> str | None:
    if memory.kind == ATTACHMENT:
        return None
    return f"{_time_key(_review_time(memory))}{category_path(memory.category).casefold()}"


# ---- categories ----


@dataclass(frozen=True, slots=True, kw_only=True)
class CategoryNode:
    """A category, in lower case, with the number of notes in it alone, and including its subcategories."""

    path: str
    name: str
    notes: int
    total: int
    children: tuple["CategoryNode", ...] = ()

    def flatten(self) -> Iterator["CategoryNode"]:
        """Yield the category and all its subcategories, each before those below it."""
        yield self
        for child in self.children:
            yield from child.flatten()


async def category_tree(*, engine: Engine, space: str) -> tuple[CategoryNode, ...]:
    """Return all categories of live notes as a tree, in the order of their names."""
    counts = dict(await engine.reader.facet_values(space, "category", state=State.LIVE, limit=_MAX_CATEGORIES))
    children: dict[str, set[str]] = {}
    for path in counts:
        # Include the parents of very deep categories, which contain no note themselves.
        parts = path.split("/")
        ancestors = (*category_lineage(path)[1:], *("/".join(parts[:end]) for end in range(1, len(parts))))
        for ancestor in dict.fromkeys((path, *ancestors)):
            children.setdefault(ancestor.rpartition("/")[0], set()).add(ancestor)
    return _build_nodes("", children, counts)


def _build_nodes(
    parent: str, children: Mapping[str, set[str]], counts: Mapping[str, int]
) -> tuple[CategoryNode, ...]:  # fmt: skip
    nodes: list[CategoryNode] = []
    for path in sorted(children.get(parent, ())):
        below = _build_nodes(path, children, counts)
        total_below = sum(child.total for child in below)
        # A note counts in its category and in all above it.
        total = max(counts.get(path, 0), total_below)
        name = path.rpartition("/")[2]
        nodes.append(CategoryNode(path=path, name=name, notes=total - total_below, total=total, children=below))
    return tuple(nodes)


_REVIEWS = TextView(filter=Filter(), extract=_review_text)
