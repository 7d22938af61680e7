"""Measures the cost of history: `python -m benchmarks.history --memories 1000`.

The benchmark stores the same memories twice: with ten versions each, made by small edits, and with the last version
alone. The difference of the two files is history. Then it times diffs of versions and reverts.
"""

import argparse
import asyncio
import random
import tempfile
import time
from collections.abc import Awaitable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import apsw

from benchmarks.cache import VectorCache
from benchmarks.corpus import SEED, load_corpus
from benchmarks.embedders import CachedEmbedder
from benchmarks.filling import PLAIN, Workspace, open_engine_with
from benchmarks.memories import CALLER, drafts
from benchmarks.tables import Table, at_most, ms, rows_of
from benchmarks.timing import Spread, spread
from scrubjay.app import make_embedder
from scrubjay.engine import Engine
from scrubjay.model.draft import Draft
from scrubjay.model.memory import Memory
from scrubjay.model.requests import Edit, HistoryRequest, RevertRequest
from scrubjay.paths import database_file
from scrubjay.settings import Settings

VERSIONS = 10
_MOST_PERCENT, _MOST_MS = 40, 5
# Generated sentences contradict each other often, and the records of conflicts are no history.
_NO_CHECKS = replace(PLAIN, conflicts="off")
_CONCURRENT = 32
_TIMED = 300
_KB = 1024
# Sentences for a memory and its edits.
_SENTENCES = 24
_PARTS = {
    "versions": ("versions",),
    "log": ("changes", "changes_space_seq", "changes_memory", "changes_run", "changes_target", "purged_memories"),
    "runs": ("runs", "runs_id", "runs_agent", "agents"),
    "vectors": ("vectors", "vectors_key", "historical_vectors", "historical_vectors_key"),
}


def main() -> None:
    """Measure, and print it as Markdown."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.history", description="Measures the cost of history.")
    parser.add_argument("--memories", type=int, default=1_000, help="the number of memories (default: 1,000)")
    parts, latency = asyncio.run(measure(parser.parse_args().memories))
    for table in (parts, latency):
        print(f"## {table.title}\n")
        print("\n".join(rows_of(table)) + "\n")


async def measure(memories: int) -> tuple[Table, Table]:
    """Measure the sizes of the files, and the times of diffs and reverts."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        inner = make_embedder(Settings.load(environment={}, home=folder))
        embedder = CachedEmbedder(inner, VectorCache(await inner.profile()))
        long, short = (Workspace(home=home / name, embedder=embedder) for name in ("many", "single"))
        async with open_engine_with(long.settings, embedder) as engine:
            ids = await _make_versions(replace(engine, default_rules=_NO_CHECKS), memories)
            finals = [(await engine.reader.get(CALLER.space, [id_]))[id_] for id_ in ids]
        async with open_engine_with(short.settings, embedder) as engine:
            await _remember_all(replace(engine, default_rules=_NO_CHECKS), [_as_draft(memory) for memory in finals])
        many, single = _weigh(long), _weigh(short)
        async with open_engine_with(long.settings, embedder) as engine:
            latency = await _latency(engine, ids)
        await inner.close()
    return _weights(single, many, memories=memories), latency


# ---- versions ----


async def _make_versions(engine: Engine, memories: int) -> list[str]:
    """Remember memories and edit each of them until it has ten versions."""
    corpus = load_corpus(sentences=memories * _SENTENCES, questions=1).sentences
    portions = [corpus[at : at + _SENTENCES] for at in range(0, len(corpus), _SENTENCES)]
    first_drafts = [_draft(portion, number) for number, portion in enumerate(portions)]
    ids = await _remember_all(engine, first_drafts)
    edits_by_memory = [
        _edits(draft, portion, number)
        for number, (draft, portion) in enumerate(zip(first_drafts, portions, strict=True))
    ]
    # Round by round, as in real use: neighbouring rows of the file belong to different memories.
    for edits in zip(*edits_by_memory, strict=True):
        for start in range(0, len(ids), _CONCURRENT):
            pairs = zip(ids[start : start + _CONCURRENT], edits[start : start + _CONCURRENT], strict=True)
            done = await asyncio.gather(*(engine.apply_edit(id_, edit, who=CALLER) for id_, edit in pairs))
            if any(revision.action != "updated" for revision in done):
                raise SystemExit("an edit changed nothing")
    return ids


def _draft(sentences: Sequence[str], number: int) -> Draft:
    """Make a draft: of ten, three are a sentence, three a paragraph, and four have five to ten observations."""
    (draft,) = drafts(sentences[:1], first=number)
    if number % 10 < 3:
        return draft
    if number % 10 < 6:
        return replace(draft, text=" ".join(sentences[:5]))
    return replace(draft, observations=tuple(sentences[1 : 6 + number // 10 % 6]))


def _edits(draft: Draft, sentences: Sequence[str], number: int) -> Iterator[Edit]:
    """Yield nine edits, shuffled for each memory: of sentences, observations and labels."""
    source = random.Random(SEED + number)
    fresh = list(sentences[12:])
    kinds = ["add", "add", "add", "change", "change", "reword", "reword", "tag", "note"]
    source.shuffle(kinds)
    observed, text, tags = list(draft.observations), draft.text, list(draft.tags)
    for kind in kinds:
        if kind == "reword":
            text = _reword(text, source)
            yield Edit(fields={"content": text}, message="wording")
        elif kind == "tag":
            tags.append("seen-again")
            yield Edit(fields={"tags": list(tags)})
        elif kind == "note":
            yield Edit(fields={"metadata": {"checked": number % 7, "by": "benchmark"}})
        elif kind == "change" and observed:
            removed = observed.pop(source.randrange(len(observed)))
            observed.append(_reword(removed, source))
            yield Edit(remove_observations=(removed,), add_observations=(observed[-1],))
        else:
            observed.append(fresh.pop())
            yield Edit(add_observations=(observed[-1],))


def _reword(text: str, source: random.Random) -> str:
    """Replace a word or a number of a text."""
    words = text.split()
    place = source.randrange(len(words))
    word = words[place]
    words[place] = str(int(word) + 1) if word.isdigit() else source.choice(("perhaps", "later", "again", "still"))
    return " ".join(words) if words[place] != word else f"{text} Still so."


def _as_draft(memory: Memory) -> Draft:
    return Draft(
        text=memory.content,
        name=memory.name,
        intent="new",
        kind=memory.kind,
        entities=(memory.entity,),
        observations=tuple(observation.text for observation in memory.observations),
        tags=memory.tags,
        project=memory.project,
        scope=memory.scope,
        source=memory.source,
        metadata=memory.metadata,
    )


async def _remember_all(engine: Engine, pending: Sequence[Draft]) -> list[str]:
    ids: list[str] = []
    for start in range(0, len(pending), _CONCURRENT):
        batch = (engine.remember(draft, who=CALLER) for draft in pending[start : start + _CONCURRENT])
        ids += [memory.id for memory in await asyncio.gather(*batch)]
    return ids


# ---- figures ----


def _weigh(workspace: Workspace) -> Mapping[str, int]:
    """Return the bytes of a closed store by table and index; the file's own under an empty name."""
    path = database_file(workspace.settings.data)
    connection = apsw.Connection(str(path))
    try:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        rows = connection.execute("SELECT name, sum(pgsize) FROM dbstat GROUP BY name").fetchall()
    finally:
        connection.close()
    return {"": path.stat().st_size, **{str(name): int(size) for name, size in rows}}


def _weights(single: Mapping[str, int], many: Mapping[str, int], *, memories: int) -> Table:
    named = {name for part in _PARTS.values() for name in part}
    parts = {**_PARTS, "the rest": tuple({*single, *many} - named - {""})}
    rows = [_row(label, single, many, names, memories=memories) for label, names in parts.items()]
    whole = _row("the file", single, many, ("",), memories=memories)
    added = 100 * (many[""] / single[""] - 1)
    promise, is_met = at_most("history adds", added, _MOST_PERCENT, "%")
    print(f"{'' if is_met else 'MISS '}{promise}\n")
    return Table(
        title=f"{memories:,} memories with one version and with {VERSIONS}",
        head=("part", "one, KB", f"{VERSIONS}, KB", "added, % of the file", "added bytes a version"),
        rows=(*rows, whole),
    )


def _row(
    label: str, single: Mapping[str, int], many: Mapping[str, int], names: Sequence[str], *, memories: int
) -> tuple[str, ...]:
    less, more = (sum(sizes.get(name, 0) for name in names) for sizes in (single, many))
    share = 100 * (more - less) / single[""]
    return label, f"{less / _KB:,.0f}", f"{more / _KB:,.0f}", f"{share:.1f}", f"{(more - less) / memories / 9:,.0f}"


async def _latency(engine: Engine, ids: Sequence[str]) -> Table:
    source = random.Random(SEED)
    chosen = [(source.choice(ids), sorted(source.sample(range(1, VERSIONS + 1), 2))) for _ in range(_TIMED)]
    compared = [
        await _seconds(engine.history(HistoryRequest(id=id_, diff=tuple(pair)), who=CALLER)) for id_, pair in chosen
    ]
    reverted = [
        await _seconds(engine.revert(RevertRequest(id=id_, to=first), who=CALLER)) for id_, (first, _) in chosen
    ]
    rows = (_latency_row("diff of two versions", spread(compared)), _latency_row("revert", spread(reverted)))
    head = ("what", "p50, ms", "p95, ms", "p99, ms")
    return Table(title="Diffs of versions and reverts", head=head, rows=rows)


async def _seconds(doing: Awaitable[object]) -> float:
    began = time.perf_counter()
    await doing
    return time.perf_counter() - began


def _latency_row(label: str, taken: Spread) -> tuple[str, ...]:
    promise, is_met = at_most(f"{label}, p50", taken.p50, _MOST_MS, "ms")
    print(f"{'' if is_met else 'MISS '}{promise}\n")
    return label, ms(taken.p50), ms(taken.p95), ms(taken.p99)


if __name__ == "__main__":
    main()
