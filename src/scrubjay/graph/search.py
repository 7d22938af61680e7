"""`search_nodes`: entities by name and type, exactly or nearly, and then by meaning."""

import asyncio
import re
import sys
from array import array
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from heapq import nlargest
from typing import cast

import numpy as np

from scrubjay.graph.entity import kind_label, name_of
from scrubjay.graph.node_json import node_json
from scrubjay.graph.records import compression_ratio
from scrubjay.lookup.branches import CURRENT_COLLECTION, branch_id, public_record
from scrubjay.lookup.references import TolerantReader
from scrubjay.model.checks import require_integer, require_text
from scrubjay.model.memory import MAIN, Json, Memory, State
from scrubjay.model.query import Filter
from scrubjay.model.results import Recalled
from scrubjay.ports import RecordStore
from scrubjay.recalling.changes import weightier_first
from scrubjay.recalling.text_cache import TextCaches, TextView, scan
from scrubjay.text.fuzzy import close_labels, close_lengths, grams_of
from scrubjay.text.tokens import terms_of

MAX_RESULTS = 10_000
MAX_RANKED = 1_000
"""So many entities are found by meaning: it is the most that recall ranks at once, for 50 to 200 ms."""
# To order the entities of one type by accesses, all must be read: of more, only the newest are.
_MAX_ORDERED = 500
# An answer includes so many pinned entities, the oldest first.
_MAX_PINNED = 20
_PAGE = 500
# A hit by meaning counts if it answers about as well as the best one: a list must not be filled up.
_SHARE_OF_BEST = 0.25
# Shorter words are so similar that a typo cannot be distinguished from another word.
_MIN_FUZZY_LENGTH = 4
_JOINTS = re.compile(r"[-_\s]+")
_NEVER = datetime.min.replace(tzinfo=UTC)
# Separates the labels of one entity: no stored text contains it.
SEPARATOR = "\x00"
_GRAM = 3
# So few labels are all scored; of more, those that share the most trigrams, counted in so many entries.
_MAX_SCORED = 2_000
_MAX_ENTRIES = 50_000
# Unused labels stay in the lists until there are so many of them, and more than used ones.
_MAX_UNUSED = 1_000
# The overhead of an owner of labels, of a label, of each of its trigrams, and of each label of an owner.
_ENTRY_BYTES = 100
_LABEL_BYTES = 350
_NUMBER_BYTES = 5
_OWNER_BYTES = 40
_EMPTY_BYTES = 1_000


async def search_nodes(
    query: str,
    *,
    limit: int,
    recall: Callable[[], Awaitable[Recalled]],
    now: datetime,
    space: str,
    store: RecordStore,
    text_caches: TextCaches,
) -> dict[str, Json]:
    """Return entities by name and type, then those that a recall finds by meaning; pinned entities come first.

    Of more than a recall ranks, the others follow that have all words of the query.
    What is named exactly is not searched by meaning as well.

    The first `always_included` results are pinned and come on top of the limit. Without a query, return all entities,
    the most often read first. What was given less relevance comes later, and never before what has updated it.
    """
    require_text(query, field="query")
    require_integer(limit, field="limit", most=MAX_RESULTS)
    reader = TolerantReader(store, space=space)
    pinned = [memory for memory in await reader.get(await store.pinned(space)) if memory.state is State.LIVE]
    needed = limit + len(pinned)
    matches: dict[str, Memory] = {}
    labelled = await _find_by_label(query, limit=needed, space=space, store=store, text_caches=text_caches)
    for ids in labelled:
        if len(matches) < needed:
            newest = nlargest(max(needed, _MAX_ORDERED) if query.strip() else MAX_RESULTS, ids)
            live = [memory for memory in await _read_pages(newest, reader=reader) if memory.state is State.LIVE]
            matches |= {memory.id: memory for memory in sorted(live, key=_order)}
    is_named = not query.strip() or bool(labelled[0]) or len(matches) >= needed
    recalled = Recalled(hits=()) if is_named else await recall()
    floor = _SHARE_OF_BEST * max((hit.score for hit in recalled.hits), default=0.0)
    for hit in recalled.hits:
        if hit.memory is not None and not hit.weak and hit.score >= floor:
            matches.setdefault(hit.id, hit.memory)
    if recalled.cursor and limit > MAX_RANKED and len(matches) < needed:
        worded = await _find_by_words(query, limit=needed, reader=reader)
        matches |= {memory.id: memory for memory in worded if memory.id not in matches}
    ordered = await weightier_first(list(matches.values()), reader=reader, now=now)
    # Pinned entities beyond their own places are matched like all others.
    first = {memory.id: memory for memory in pinned[:_MAX_PINNED]}
    shown = [*first.values(), *[memory for memory in ordered if memory.id not in first][:limit]]
    results = await _render_nodes(shown, now=now, space=space, store=store)
    answer: dict[str, Json] = {"success": True, "query": query, "count": len(results), "results": results}
    answer["always_included"] = len(first)
    if len(pinned) > len(first):
        answer["note"] = f"{len(pinned) - len(first):,} more are always included and have no room: unpin some"
    return answer


def found_in(answer: Mapping[str, Json], *, space: str) -> list[tuple[str, str]]:
    """Return what an answer has found, each as its space and its id. A list of all entities was no question."""
    nodes = cast("list[dict[str, Json]]", answer["results"]) if str(answer["query"]).strip() else []
    return [(space, str(node["id"])) for node in nodes]


class LabelIndex:
    """The labels of entities, and for each trigram the labels that contain it."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}
        self._size = _EMPTY_BYTES
        self._clear()

    @property
    def size(self) -> int:
        """The approximate size in bytes."""
        return self._size

    @property
    def ids(self) -> list[str]:
        """The ids of all entities with labels."""
        return list(self._texts)

    def put(self, memory_id: str, text: str | None) -> None:
        """Set or remove the labels of an entity, joined by the separator."""
        before = self._texts.get(memory_id)
        if text == before:
            return
        if before is not None:
            del self._texts[memory_id]
            self._size -= _entity_size(memory_id, before)
            self._remove(memory_id, before.split(SEPARATOR))
        if text is not None:
            self._texts[memory_id] = text
            self._size += _entity_size(memory_id, text)
            self._add(memory_id, text.split(SEPARATOR))
        if len(self._labels) > max(_MAX_UNUSED, 2 * len(self._numbers)):
            self._rebuild()

    def find_exact(self, label: str) -> set[str]:
        """Return the entities with exactly this label."""
        number = self._numbers.get(label)
        return set() if number is None else set(self._owners[number])

    def find_containing(self, text: str) -> set[str]:
        """Return the entities with a label that contains a text."""
        owners = set[str]()
        for number in self._candidates_containing(text):
            if text in self._labels[number]:
                owners |= self._owners[number]
        return owners

    def find_similar(self, label: str, *, excluded: set[str], limit: int) -> list[str]:
        """Return other entities with labels that differ in a letter or two, the most similar first."""
        # A label whose owners are all excluded would take the place of another.
        candidates = [
            self._labels[number] for number in self._similar_numbers(label) if not self._owners[number] <= excluded
        ]
        best = close_labels(label, candidates, limit=limit)
        owners = (owner for close in best for owner in self._owners[self._numbers[close]])
        return list(dict.fromkeys(owner for owner in owners if owner not in excluded))

    def _clear(self) -> None:
        self._numbers: dict[str, int] = {}
        self._labels: list[str] = []
        self._lengths: array[int] = array("I")
        self._owners: list[set[str]] = []
        self._by_gram: dict[str, array[int]] = {}

    def _candidates_containing(self, text: str) -> Iterable[int]:
        """Return labels that include all that contain a text."""
        if len(text) >= _GRAM:
            grams = (text[at : at + _GRAM] for at in range(len(text) - _GRAM + 1))
            return min((self._by_gram.get(gram, _NO_NUMBERS) for gram in grams), key=len)
        numbers = [numbers for gram, numbers in self._by_gram.items() if text in gram]
        return dict.fromkeys(number for gram_numbers in numbers for number in gram_numbers)

    def _similar_numbers(self, label: str) -> Iterable[int]:
        """Return the labels with the largest share of common trigrams; rare trigrams are counted first."""
        if len(self._numbers) <= _MAX_SCORED:
            return self._numbers.values()
        entries = list(self._rarest_entries(label))
        if not entries:
            return ()
        shared = np.bincount(np.concatenate(entries))
        numbers = np.flatnonzero(shared)
        lengths = np.array(self._lengths, dtype=np.uint32)[numbers]
        # Unused labels have the length 0.
        shortest, longest = close_lengths(len(label))
        is_close = (lengths >= max(1, shortest)) & (lengths <= longest)
        numbers, lengths = numbers[is_close], lengths[is_close]
        if len(numbers) > _MAX_SCORED:
            share = shared[numbers] / (len(label) + lengths)
            numbers = numbers[np.argsort(-share, kind="stable")[:_MAX_SCORED]]
        return numbers.tolist()

    def _rarest_entries(self, label: str) -> "Iterator[np.ndarray[tuple[int], np.dtype[np.uint32]]]":
        count = 0
        for numbers in sorted((self._by_gram[gram] for gram in grams_of(label) if gram in self._by_gram), key=len):
            # Of a list that is too long, the latest.
            yield np.array(numbers[-(_MAX_ENTRIES - count) :], dtype=np.uint32)
            count += len(numbers)
            if count >= _MAX_ENTRIES:
                return

    def _add(self, memory_id: str, labels: Iterable[str]) -> None:
        for label in filter(None, labels):
            number = self._numbers.get(label)
            if number is None:
                number = self._numbers[label] = len(self._labels)
                self._labels.append(label)
                self._lengths.append(len(label))
                self._owners.append(set())
                self._size += _label_size(label)
                for gram in grams_of(label):
                    self._by_gram.setdefault(gram, array("I")).append(number)
            self._owners[number].add(memory_id)

    def _remove(self, memory_id: str, labels: Iterable[str]) -> None:
        for label in filter(None, labels):
            number = self._numbers[label]
            self._owners[number].discard(memory_id)
            if not self._owners[number]:
                del self._numbers[label]
                self._size -= _label_size(label)
                self._labels[number], self._lengths[number] = "", 0

    def _rebuild(self) -> None:
        self._size -= sum(map(_label_size, self._numbers))
        self._clear()
        for memory_id, text in self._texts.items():
            self._add(memory_id, text.split(SEPARATOR))


_NO_NUMBERS = array("I")


def _entity_size(memory_id: str, text: str) -> int:
    owned = _OWNER_BYTES * (1 + text.count(SEPARATOR))
    return sys.getsizeof(memory_id) + sys.getsizeof(text) + _ENTRY_BYTES + owned


def _label_size(label: str) -> int:
    return sys.getsizeof(label) + _LABEL_BYTES + _NUMBER_BYTES * len(label)


def _labels(memory: Memory) -> str:
    labels = (name_of(memory), kind_label(memory))
    return SEPARATOR.join(dict.fromkeys(form for text in labels for form in _forms(text)))


_NODES = TextView(Filter(), _labels)


async def _find_by_label(
    query: str, *, limit: int, space: str, store: RecordStore, text_caches: TextCaches
) -> Sequence[Collection[str]]:
    """Return the entities whose name or type matches exactly, then in part, then nearly."""
    labels = await text_caches.container(_NODES, make=LabelIndex, space=space, store=store)
    if labels is None:
        labels = LabelIndex()
        async for memory_id, text in scan(_NODES, reader=TolerantReader(store, space=space)):
            labels.put(memory_id, text)
    forms = [form for form in _forms(query) if form]
    if not forms:
        return (labels.ids,)
    exact = set[str]().union(*map(labels.find_exact, forms))
    # The last form has spaces between its words, as each label has too: whatever has another form, has this one.
    partial = labels.find_containing(forms[-1]) - exact
    # Who writes a name exactly has made no typo.
    if exact or len(partial) >= limit or len(forms[-1]) < _MIN_FUZZY_LENGTH:
        return exact, partial
    return exact, partial, labels.find_similar(forms[-1], excluded=partial, limit=limit)


async def _find_by_words(query: str, *, limit: int, reader: TolerantReader[RecordStore]) -> list[Memory]:
    """Return the live entities with all words of a query: what there is beyond those that recall ranks."""
    groups = [(term,) for term in dict.fromkeys(terms_of(query))]
    named = await reader.store.memories_matching(reader.space, groups, Filter(), limit=limit) if groups else []
    complete = [match.passage for match in named if match.groups == len(groups)]
    passages = await reader.store.stored_passages(reader.space, complete) if complete else []
    ids = list(dict.fromkeys(passage.memory_id for passage in passages))
    return [memory for memory in await _read_pages(ids, reader=reader) if memory.state is State.LIVE]


def _forms(text: str) -> tuple[str, ...]:
    """Return a label in lower case, as written and with spaces between its words."""
    lower = " ".join(text.lower().split())
    return tuple(dict.fromkeys((lower, _JOINTS.sub(" ", lower).strip())))


def _order(memory: Memory) -> tuple[float, int, float, str]:
    """Sort by the relevance that was given, and then by reads: decay alone would order everything by age."""
    last = memory.last_accessed or _NEVER
    return -memory.relevance, -memory.access_count, -(last - _NEVER).total_seconds(), memory.id


async def _read_pages(ids: Sequence[str], *, reader: TolerantReader[RecordStore]) -> list[Memory]:
    memories: list[Memory] = []
    for start in range(0, len(ids), _PAGE):
        memories += await reader.get(ids[start : start + _PAGE])
    return memories


async def _render_nodes(memories: Sequence[Memory], *, now: datetime, space: str, store: RecordStore) -> list[Json]:
    """Render each entity on its current branch."""
    ids = [memory.id for memory in memories]
    sizes = await store.sizes(space, ids) if ids else {}
    documents = await store.documents_about(space, CURRENT_COLLECTION, ids, limit=len(ids)) if ids else []
    current = {document.key: str(document.value.get("current") or MAIN) for document in documents}
    switched = {memory_id: current[memory_id] for memory_id in ids if current.get(memory_id, MAIN) != MAIN}
    records = await store.get(space, [branch_id(*item) for item in switched.items()]) if switched else {}
    nodes: list[Json] = []
    for number, memory in enumerate(memories):
        if number % _PAGE == _PAGE - 1:
            # All wait for the event loop.
            await asyncio.sleep(0)
        compression = compression_ratio(sizes.get(memory.id))
        record = records.get(branch_id(memory.id, switched[memory.id])) if memory.id in switched else None
        main_node = node_json(memory, compression=compression, branch=MAIN, now=now)
        # A dropped branch does not count.
        if record is None or record.state is not State.BRANCHED:
            nodes.append(main_node)
            continue
        node = node_json(public_record(record), compression=compression, branch=record.branch, now=now)
        # Accesses are counted for all branches together.
        nodes.append(node | {name: main_node[name] for name in ("accessed", "access_count")})
    return nodes
