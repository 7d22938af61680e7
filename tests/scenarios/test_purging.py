"""After a purge no file of the data folder has a word of the purged memory, and all others are intact."""

import asyncio
import json
import random
from functools import partial
from pathlib import Path

from scrubjay.client import MemoryClient
from scrubjay.model.change import Origin
from scrubjay.model.memory import State
from scrubjay.model.query import Filter, facet, tag_facet
from scrubjay.storage.codec import train
from scrubjay.vectors.edge_codec import facet_number
from tests.scenarios.wiring import Wiring, files_with, open_wiring, run_command

WORD = "qzvorplax"
# The vector index knows labels by numbers.
NUMBERS = [facet_number(label) for label in (facet("entity", WORD), tag_facet(WORD))]
SECRET = [
    WORD.encode()[:8],
    *(form for number in NUMBERS for form in (str(number).encode(), number.to_bytes(8, "little"))),
]
# A little more than the first training of a dictionary needs.
MANY = 210


async def test_nothing_of_a_purged_memory_is_left_in_any_file(home: Path) -> None:
    async with open_wiring(home) as wiring:
        memory = wiring.client(agent="someone", run="tuesday")
        await memory.remember("a memory that stays", name="stays")
        done = await memory.remember(
            f"The secret is {WORD}", title=f"About {WORD}", name=f"{WORD}-note", kind=f"{WORD} kind", tags=[WORD],
            observations=[f"{WORD} was seen"], category=WORD, metadata={WORD: WORD}, entities=[WORD, "other"],
            idempotency_key=WORD, source={"session": WORD},
        )  # fmt: skip
        await memory.revise(done.id, text=f"Once more {WORD}", message=f"for {WORD}")
        await memory.relate("stays", done.id, text=f"see {WORD}", metadata={"why": WORD})
        await memory.relate(done.id, "stays", relation=f"is {WORD} of", text=WORD)
        await memory.recall(WORD)
        await memory.recall(f"Is {WORD} unknown?", kind="nothing")
        assert wiring.engine.access_log.usage is not None
        await wiring.engine.access_log.usage.flush()
        assert files_with(home, SECRET)
        await memory.forget(done.ids, reason=f"no more {WORD}")
        await memory.purge(done.ids)
        assert files_with(home, SECRET) == []
        assert [record.content for record in (await memory.read("stays")).memories] == ["a memory that stays"]
        assert (await memory.read("stays")).relations == ()
        assert not (await memory.read(done.ids)).memories
        assert (await memory.doctor(deep=True)).ok
    assert files_with(home, SECRET) == []


async def test_a_dictionary_that_learned_a_purged_word_is_replaced(wiring: Wiring, memory: MemoryClient) -> None:
    await fill(memory, wiring)
    learned = dictionaries(wiring)
    assert any(WORD.encode() in data for data in learned.values())
    names = [f"secret-{number}" for number in range(0, MANY, 2)]
    await memory.revise("plain-1", text="A plain sentence, revised: " + "the weather was fine " * 8)
    await memory.forget(names)
    assert len((await memory.purge(names)).done) == len(names)
    assert files_with(wiring.home, SECRET) == []
    assert not set(learned) & set(dictionaries(wiring))
    plain = (await memory.read([f"plain-{number}" for number in range(1, MANY, 2)])).memories
    assert all("the weather was fine" in record.content for record in plain)
    assert (await memory.history("plain-1")).versions[-1].memory.content.startswith("A plain sentence about number 1,")
    assert (await memory.doctor(deep=True)).ok


async def test_the_file_is_rewritten_so_that_moved_rows_leave_nothing_behind(home: Path) -> None:
    """SQLite moves rows from page to page as a table grows, and overwrites only where they were last."""
    chance = random.Random(7)
    async with open_wiring(home, index=False) as wiring:
        memory = wiring.client()
        names = [f"{'plain' if number % 2 else 'secret'}-{number}" for number in range(190)]
        for name in names:
            filler = "".join(chance.choices("abcdefgh ", k=chance.randrange(5, 400)))
            await memory.remember(f"{WORD if 'secret' in name else 'plain'} {filler}", name=name, intent="new")
        for name in names:
            await memory.revise(name, tags=["seen"])
        await memory.forget(names[::2])
        await memory.purge(names[::2])
        assert files_with(home, SECRET) == []
        assert wiring.store._connection.pragma("freelist_count") == 0


async def test_a_purge_in_one_space_leaves_the_dictionary_of_another(wiring: Wiring) -> None:
    mine, theirs = wiring.client(), wiring.client(space="theirs")
    await fill(theirs, wiring, space="theirs")
    stored = dictionaries(wiring)
    done = await mine.remember("mine alone")
    await mine.forget(done.id)
    await mine.purge(done.id)
    assert dictionaries(wiring) == stored


async def test_a_dictionary_in_training_does_not_bring_purged_words_back(wiring: Wiring, memory: MemoryClient) -> None:
    """The samples were read before the purge, the dictionary is kept after it."""
    await fill(memory, wiring, wait=False)
    samples, purges = await wiring.store._read(wiring.store._bodies.samples, "default")
    trained = await asyncio.to_thread(train, samples, number=0)
    assert trained is not None
    assert WORD.encode() in trained.data
    names = [f"secret-{number}" for number in range(0, MANY, 2)]
    await memory.forget(names)
    await memory.purge(names)
    keep = partial(wiring.store._bodies.store_dictionary, space="default", data=trained.data, purges_before=purges)
    await wiring.store._writer.run(keep)
    assert files_with(wiring.home, SECRET) == []


async def test_a_purge_on_the_command_line_cleans_the_index_too(home: Path) -> None:
    async with open_wiring(home) as wiring:
        done = await wiring.client().remember(f"The secret is {WORD}", tags=[WORD], entities=[WORD])
        await wiring.client().remember("a memory that stays", tags=["stays"])
        await wiring.client().recall("secret")
    assert any("index" in results for results in files_with(home, SECRET))
    run_command(home, "forget", done.id, SCRUBJAY_EMBEDDER="none")
    purged = run_command(home, "purge", done.id, "--yes", "--json", SCRUBJAY_EMBEDDER="none")
    assert json.loads(purged.stdout)["done"][0]["id"] == done.id, purged.stderr
    assert files_with(home, SECRET) == []
    async with open_wiring(home) as wiring:
        assert [hit.passage for hit in (await wiring.client().recall("stays")).hits] == ["a memory that stays"]
        assert (await wiring.client().status()).index["kind"] == "edge"


async def test_the_holder_of_the_index_cleans_it_after_a_purge_by_another(wiring: Wiring, memory: MemoryClient) -> None:
    done = await memory.remember(f"The secret is {WORD}", tags=[WORD])
    await memory.remember("a memory that stays", tags=["stays"])
    await memory.recall("secret")
    async with open_wiring(wiring.home) as other:
        await other.client().forget(done.id)
        await other.client().purge(done.id)
    await memory.recall("anything")
    await wiring.index.settle()
    assert files_with(wiring.home, SECRET) == []
    assert [hit.passage for hit in (await memory.recall("stays")).hits] == ["a memory that stays"]


async def fill(memory: MemoryClient, wiring: Wiring, *, space: str = "default", wait: bool = True) -> None:
    """Remember enough memories for a dictionary, half of them with the word."""
    for number in range(MANY):
        secret = number % 2 == 0
        text = f"{WORD} is what number {number} is about, " + f"and {WORD} it is called " * 8
        plain = f"A plain sentence about number {number}, " + "the weather was fine " * 8
        name = f"{'secret' if secret else 'plain'}-{number}"
        await memory.remember(text if secret else plain, name=name, intent="new")
    while wait and wiring.store.upkeep.training:
        await asyncio.gather(*wiring.store.upkeep.training)
    assert not wait or dictionaries(wiring)


def dictionaries(wiring: Wiring) -> dict[int, bytes]:
    rows = wiring.store._connection.execute("SELECT no, data FROM dictionaries").fetchall()
    return {int(number): bytes(data) for number, data in rows}


async def test_a_branch_that_outlived_its_memory_is_put_into_the_trash_and_nothing_of_it_is_lost(
    wiring: Wiring, memory: MemoryClient
) -> None:
    tea = await memory.remember("Tea is a drink", name="tea", observations=["black"])
    await memory.branch("tea", "draft")
    await memory.revise("tea", observations=["green"], branch="draft", message="what if")
    store = wiring.store
    (lost,) = await store.list_ids("default", Filter(state=State.BRANCHED), limit=9)
    # As a purge does that has not seen the branch.
    await store.purge("default", [tea.id], origin=Origin(at=wiring.engine.clock.now(), run="race"))
    assert {check.name: check.ok for check in (await memory.doctor()).checks}["branches"] is False
    healed = await memory.doctor(repair=True)
    (check,) = [check for check in healed.checks if check.name == "branches"]
    assert (check.ok, lost in check.detail) == (True, True)
    assert (await memory.recall("green drink")).hits == ()
    # Its text can be read and restored; recall finds it only after that.
    (read,) = (await memory.read(lost)).memories
    assert [observation.text for observation in read.observations] == ["green"]
    (back,) = (await memory.restore(lost)).done
    assert (back.action, back.id, back.branch) == ("restored", lost, "main")
    assert [hit.id for hit in (await memory.recall("green drink")).hits] == [lost]
    assert [version.message for version in (await memory.history("tea")).versions][:2] == ["", "its memory is gone"]
    assert (await memory.revise("tea", text="Tea is hot")).version == back.version + 1
    assert [branch.name for branch in (await memory.branch("tea", "draft")).branches] == ["main", "draft"]
    # It is purged with its branches like any other memory.
    await memory.forget(lost)
    assert [change.id for change in (await memory.purge(lost)).done] == [lost]
    (check,) = [check for check in (await memory.doctor(deep=True)).checks if check.name == "branches"]
    assert (check.ok, check.detail) == (True, "each has a memory")
    assert await store.get("default", [lost]) == {}
