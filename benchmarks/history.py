"""What history costs: `python -m benchmarks.history --memories 1000`.

The same memories are stored twice: taken through ten versions by small edits, and at once as they are at the end. What
the first file has more than the second is history. Then versions are compared and gone back to, with the clock running.
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
from benchmarks.embedders import KnowingEmbedder
from benchmarks.filling import PLAIN, Ground, opened
from benchmarks.memories import CALLER, drafts
from benchmarks.tables import Table, at_most, ms, rows_of
from benchmarks.timing import Spread, spread
from scrubjay.app import make_embedder
from scrubjay.engine import Engine
from scrubjay.model.draft import Draft, Edit
from scrubjay.model.memory import Memory
from scrubjay.paths import database_file
from scrubjay.settings import Settings

VERSIONS = 10
_MOST_PERCENT, _MOST_MS = 40, 5
# Sentences that are made contradict each other by the dozen, and what is filed about that is no history.
_QUIET = replace(PLAIN, conflicts="off")
_AT_ONCE = 32
_TIMED = 300
_KB = 1024
# Sentences that a memory and its edits are made of.
_SENTENCES = 24
_PARTS = {
    "versions": ("versions",),
    "log": ("changes", "changes_space_seq", "changes_memory", "changes_run", "changes_target", "purged_memories"),
    "runs": ("runs", "runs_id", "runs_agent", "agents"),
    "vectors": ("vectors", "vectors_key", "historical_vectors", "historical_vectors_key"),
}


def main() -> None:
    """Measure, and print it as Markdown."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.history", description="What history costs.")
    parser.add_argument("--memories", type=int, default=1_000, help="so many memories (default: 1,000)")
    parts, latency = asyncio.run(measure(parser.parse_args().memories))
    for table in (parts, latency):
        print(f"## {table.title}\n")
        print("\n".join(rows_of(table)) + "\n")


async def measure(memories: int) -> tuple[Table, Table]:
    """What the files weigh, and how long it takes to compare versions and to go back."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        inner = make_embedder(Settings.load(environment={}, home=folder))
        embedder = KnowingEmbedder(inner, VectorCache(await inner.profile()))
        long, short = (Ground(home=home / name, embedder=embedder) for name in ("many", "one"))
        async with opened(long.settings, embedder) as engine:
            ids = await _live(replace(engine, default_rules=_QUIET), memories)
            finals = [(await engine.store.get(CALLER.space, [id_]))[id_] for id_ in ids]
        async with opened(short.settings, embedder) as engine:
            await _all_at_once(replace(engine, default_rules=_QUIET), [_as_draft(memory) for memory in finals])
        many, item = _weigh(long), _weigh(short)
        async with opened(long.settings, embedder) as engine:
            latency = await _latency(engine, ids)
        await inner.close()
    return _weights(item, many, memories=memories), latency


# ---- lives ----


async def _live(engine: Engine, memories: int) -> list[str]:
    """Remember so many and take each through its edits, as long as it has fewer than ten versions."""
    corpus = load_corpus(sentences=memories * _SENTENCES, questions=1).sentences
    portions = [corpus[at : at + _SENTENCES] for at in range(0, len(corpus), _SENTENCES)]
    born = [_born(item, number) for number, item in enumerate(portions)]
    ids = await _all_at_once(engine, born)
    lives = [_edits(draft, item, number) for number, (draft, item) in enumerate(zip(born, portions, strict=True))]
    # Round by round, as time goes by: what follows one another in the file is not of one memory.
    for edits in zip(*lives, strict=True):
        for start in range(0, len(ids), _AT_ONCE):
            pairs = zip(ids[start : start + _AT_ONCE], edits[start : start + _AT_ONCE], strict=True)
            done = await asyncio.gather(*(engine.revise(item, edit, who=CALLER) for item, edit in pairs))
            if any(item.action != "updated" for item in done):
                raise SystemExit("an edit changed nothing")
    return ids


def _born(sentences: Sequence[str], number: int) -> Draft:
    """Three in ten are one sentence, three are a paragraph, four tell of something by five to ten observations."""
    (draft,) = drafts(sentences[:1], first=number)
    if number % 10 < 3:
        return draft
    if number % 10 < 6:
        return replace(draft, text=" ".join(sentences[:5]))
    return replace(draft, observations=tuple(sentences[1 : 6 + number // 10 % 6]))


def _edits(draft: Draft, sentences: Sequence[str], number: int) -> Iterator[Edit]:
    """Nine edits, in another order for each memory: sentences and observations added and changed, labels changed."""
    source = random.Random(SEED + number)
    fresh = list(sentences[12:])
    kinds = ["add", "add", "add", "change", "change", "reword", "reword", "tag", "note"]
    source.shuffle(kinds)
    observed, text, tags = list(draft.observations), draft.text, list(draft.tags)
    for kind in kinds:
        if kind == "reword":
            text = _reworded(text, source)
            yield Edit(fields={"content": text}, message="wording")
        elif kind == "tag":
            tags.append("seen-again")
            yield Edit(fields={"tags": list(tags)})
        elif kind == "note":
            yield Edit(fields={"metadata": {"checked": number % 7, "by": "bench"}})
        elif kind == "change" and observed:
            gone = observed.pop(source.randrange(len(observed)))
            observed.append(_reworded(gone, source))
            yield Edit(remove_observations=(gone,), add_observations=(observed[-1],))
        else:
            observed.append(fresh.pop())
            yield Edit(add_observations=(observed[-1],))


def _reworded(text: str, source: random.Random) -> str:
    """A text with another word or number in it."""
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


async def _all_at_once(engine: Engine, waiting: Sequence[Draft]) -> list[str]:
    ids: list[str] = []
    for start in range(0, len(waiting), _AT_ONCE):
        batch = (engine.remember(draft, who=CALLER) for draft in waiting[start : start + _AT_ONCE])
        ids += [item.id for item in await asyncio.gather(*batch)]
    return ids


# ---- figures ----


def _weigh(ground: Ground) -> Mapping[str, int]:
    """The bytes of a store that was closed, by table and index; its own under no name."""
    path = database_file(ground.settings.data)
    connection = apsw.Connection(str(path))
    try:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        rows = connection.execute("SELECT name, sum(pgsize) FROM dbstat GROUP BY name").fetchall()
    finally:
        connection.close()
    return {"": path.stat().st_size, **{str(name): int(size) for name, size in rows}}


def _weights(one: Mapping[str, int], many: Mapping[str, int], *, memories: int) -> Table:
    named = {name for part in _PARTS.values() for name in part}
    parts = {**_PARTS, "the rest": tuple({*one, *many} - named - {""})}
    rows = [_row(label, one, many, names, memories=memories) for label, names in parts.items()]
    whole = _row("the file", one, many, ("",), memories=memories)
    added = 100 * (many[""] / one[""] - 1)
    promise, stored = at_most("history adds", added, _MOST_PERCENT, "%")
    print(f"{'' if stored else 'MISS '}{promise}\n")
    return Table(
        title=f"{memories:,} memories with one version and with {VERSIONS}",
        head=("part", "one, KB", f"{VERSIONS}, KB", "added, % of the file", "added bytes a version"),
        rows=(*rows, whole),
    )


def _row(
    label: str, one: Mapping[str, int], many: Mapping[str, int], names: Sequence[str], *, memories: int
) -> tuple[str, ...]:
    less, more = (sum(sizes.get(name, 0) for name in names) for sizes in (one, many))
    share = 100 * (more - less) / one[""]
    return label, f"{less / _KB:,.0f}", f"{more / _KB:,.0f}", f"{share:.1f}", f"{(more - less) / memories / 9:,.0f}"


async def _latency(engine: Engine, ids: Sequence[str]) -> Table:
    source = random.Random(SEED)
    chosen = [(source.choice(ids), sorted(source.sample(range(1, VERSIONS + 1), 2))) for _ in range(_TIMED)]
    compared = [await _seconds(engine.diff(item, who=CALLER, versions=pair)) for item, pair in chosen]
    reverted = [await _seconds(engine.revert(item, who=CALLER, to=first)) for item, (first, _) in chosen]
    rows = (_promised("diff of two versions", spread(compared)), _promised("revert", spread(reverted)))
    head = ("what", "p50, ms", "p95, ms", "p99, ms")
    return Table(title="Comparing versions and going back", head=head, rows=rows)


async def _seconds(doing: Awaitable[object]) -> float:
    began = time.perf_counter()
    await doing
    return time.perf_counter() - began


def _promised(label: str, taken: Spread) -> tuple[str, ...]:
    promise, stored = at_most(f"{label}, p50", taken.p50, _MOST_MS, "ms")
    print(f"{'' if stored else 'MISS '}{promise}\n")
    return label, ms(taken.p50), ms(taken.p95), ms(taken.p99)


if __name__ == "__main__":
    main()
