"""An export has everything, and an import restores it unchanged in any store."""

import json
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from scrubjay.client import MemoryClient
from scrubjay.errors import InvalidInput
from scrubjay.model.memory import Memory, Source, State, Trust
from scrubjay.model.query import Filter
from scrubjay.model.relation import Relation
from scrubjay.model.version import Version
from tests.scenarios.wiring import Wiring, open_wiring, run_command

Everything = tuple[dict[str, Memory], dict[str, list[Version]], set[tuple[object, ...]]]
EXPORT_OF_AN_EARLIER_VERSION = Path(__file__).with_name("export_of_an_earlier_version.jsonl")
LATER = datetime(2031, 2, 3, 4, 5, 6, 789012, tzinfo=UTC)


@pytest.fixture
async def full(wiring: Wiring, memory: MemoryClient) -> MemoryClient:
    """A store with memories that use every field."""
    source = Source(session="s1", conversation="c1", at=LATER, agent="claude", tool="editor", trust=Trust.USER)
    await memory.remember(
        "Sarah likes voice calls 📞\nand 日本語\r\n\ttabs ", title="Sarah's calls", kind="preference", name="calls",
        entities=["Sarah", "Acme"], observations=["prefers mornings", "never on Fridays"], tags=["Calls", "#work"],
        category="people", project="alpha", scope="team", pinned=True, expires_at=LATER, remind_at=LATER,
        source=source, metadata={"deep": {"list": [1, 2.5, None, True, "x"]}, "n": 3},
    )  # fmt: skip
    await memory.remember("first words", name="plan")
    await memory.revise("plan", text="second words", tier="semantic", relevance=0.25, message="because")
    await memory.revise("plan", add_observations=["a fact"], pinned=True)
    await memory.revert("plan", to=1)
    await memory.remember("to be forgotten", name="gone")
    await memory.forget("gone", reason="old")
    await memory.remember("x" * 5000, name="long")
    await memory.relate("plan", "long", relation="blocks", text="until May", strength=0.125, metadata={"by": "Sarah"})
    await memory.relate("plan", "gone")
    await memory.read(["plan", "long"])
    await wiring.engine.access_log.flush()
    return memory


async def test_an_import_gives_back_every_field_of_everything(full: MemoryClient, wiring: Wiring, home: Path) -> None:
    lines = [line async for line in full.export()]
    async with open_wiring(home.parent / "other") as other:
        done = await other.client(agent="importer").import_lines(lines)
        assert (done.imported, done.known, done.relations, done.renamed) == (5, 0, 2, ())
        assert await everything(other) == await everything(wiring)
        assert (await other.client().doctor(deep=True)).ok
        again = [line async for line in other.client().export()]
    assert sorted(again[1:]) == sorted(lines[1:])


async def test_an_export_of_an_earlier_version_is_imported_with_its_history(home: Path) -> None:
    lines = EXPORT_OF_AN_EARLIER_VERSION.read_text(encoding="utf-8").splitlines()
    async with open_wiring(home) as wiring:
        memory = wiring.client()
        done = await memory.import_lines(lines)
        assert (done.imported, done.relations, done.renamed) == (3, 1, ())
        assert [version.number for version in (await memory.history("plan")).versions] == [3, 2, 1]
        assert (await memory.read("plan", version=1)).memories[0].content == "first words"
        assert (await memory.read("calls")).memories[0].title == "Sarah's calls"
        assert [hit.name for hit in (await memory.recall("second words")).hits] == ["plan"]
        assert (await memory.doctor(deep=True)).ok
        again = [line.rstrip() async for line in memory.export()]
    assert sorted(again[1:]) == sorted(lines[1:])


async def test_imported_memories_are_found_and_can_be_reverted(full: MemoryClient, home: Path) -> None:
    lines = [line async for line in full.export()]
    async with open_wiring(home.parent / "other") as other:
        memory = other.client()
        await memory.import_lines(lines)
        assert [hit.name for hit in (await memory.recall("first words")).pinned][:1] == ["calls-sarah"]
        assert (await memory.recall("voice calls", entity="Acme")).hits or (await memory.recall("calls")).pinned
        assert (await memory.revert("plan", to=2)).version == 5
        assert (await memory.read("plan")).memories[0].content == "second words"
        assert (await memory.restore("gone")).done[0].action == "restored"
        status = await memory.status()
        assert status.index["points"] == sum(1 for _ in await other.store.points("fake-64", after=-1, limit=100))


async def test_an_import_into_another_space_stays_there(full: MemoryClient, wiring: Wiring) -> None:
    lines = [line async for line in full.export()]
    elsewhere = wiring.client(space="elsewhere")
    await elsewhere.import_lines(lines)
    assert moved(await everything(wiring, space="elsewhere")) == moved(await everything(wiring))
    await elsewhere.revise("plan", text="changed elsewhere")
    assert (await full.read("plan")).memories[0].content == "first words"
    assert [hit.passage for hit in (await elsewhere.recall("changed elsewhere")).hits] == ["changed elsewhere"]
    assert not (await full.recall("changed elsewhere")).hits


async def test_an_import_into_a_store_that_has_some_of_it_adds_the_rest(full: MemoryClient, home: Path) -> None:
    lines = [line async for line in full.export()]
    async with open_wiring(home.parent / "other") as other:
        memory = other.client()
        await memory.import_lines([line for line in lines if '"plan"' in line])
        await memory.revise("plan", text="changed since")
        done = await memory.import_lines(lines)
        assert (done.imported, done.known, done.relations) == (4, 1, 2)
        assert (await memory.read("plan")).memories[0].content == "changed since"
        done = await memory.import_lines(lines)
        assert (done.imported, done.known, done.relations) == (0, 5, 0)


async def test_names_that_are_taken_get_a_suffix_and_the_answer_says_so(full: MemoryClient, home: Path) -> None:
    lines = [line async for line in full.export()]
    async with open_wiring(home.parent / "other") as other:
        memory = other.client()
        mine = await memory.remember("my own plan", name="plan")
        done = await memory.import_lines(lines)
        theirs = (await full.read("plan")).memories[0].id
        assert done.renamed == (f"plan -> plan-{theirs[-6:]}",)
        assert [record.id for record in (await memory.read("plan")).memories] == [mine.id]
        (renamed,) = (await memory.read(theirs)).memories
        assert renamed.name == f"plan-{theirs[-6:]}"
        assert (await memory.history(theirs)).versions[-1].memory.name == "plan"


async def test_a_file_with_two_memories_of_one_name_is_imported_too(full: MemoryClient, home: Path) -> None:
    """An export that runs while a name moves from one memory to another looks like that."""
    lines = [line.replace('"name": "long"', '"name": "plan"') async for line in full.export()]
    async with open_wiring(home.parent / "other") as other:
        done = await other.client().import_lines(lines)
        assert done.imported == 5
        assert len(done.renamed) == 1
        assert len((await other.client().read("plan")).memories) == 1


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        ("{", "line 3: not JSON"),
        ("[]", "line 3: not a JSON object"),
        ('{"memory": {"id": "x", "version": 1}, "versions": []}', "is not an id"),
        ('{"memory": 5}', "must be an object"),
        ('{"relation": {"source": "a"}}', "`target` must be a text"),
        ('{"scrubjay": 99}', "Update Scrubjay"),
        ("{}", "not a Scrubjay export"),
    ],
)
async def test_nothing_is_imported_when_one_line_is_wrong(
    full: MemoryClient, home: Path, broken: str, message: str
) -> None:
    lines = [line async for line in full.export()]
    async with open_wiring(home.parent / "other") as other:
        with pytest.raises(InvalidInput) as caught:
            await other.client().import_lines([*lines[:2], broken, *lines[2:]])
        assert message in str(caught.value)
        assert caught.value.fields["line"] == 3
        assert (await other.client().status()).memories == {}


@pytest.mark.parametrize("field", ["name", "title", "content", "entity", "kind"])
@pytest.mark.parametrize("text", ["\\ud800", "a\\u0000b"])
async def test_an_import_refuses_what_remember_would(full: MemoryClient, home: Path, field: str, text: str) -> None:
    lines = [line async for line in full.export()]
    at = next(number for number, line in enumerate(lines) if '"plan"' in line)
    record = json.loads(lines[at])
    record["versions"][-1]["body"][field] = "PLACE"
    lines[at] = json.dumps(record).replace("PLACE", text)
    async with open_wiring(home.parent / "other") as other:
        with pytest.raises(InvalidInput) as caught:
            await other.client().import_lines(lines)
        assert caught.value.fields["line"] == at + 1
        assert (await other.client().status()).memories == {}


async def test_numbers_no_store_can_keep_are_refused(full: MemoryClient, home: Path) -> None:
    lines = [line async for line in full.export()]
    async with open_wiring(home.parent / "other") as other:
        broken = [line.replace(": 4,", f": {10**30},") for line in lines]
        with pytest.raises(InvalidInput, match="must be at most"):
            await other.client().import_lines(broken)
        broken = [line.replace('"n": 3', '"n": NaN') for line in lines]
        with pytest.raises(InvalidInput, match="NaN"):
            await other.client().import_lines(broken)
        assert (await other.client().status()).memories == {}


async def test_export_and_import_on_the_command_line(full: MemoryClient, home: Path) -> None:
    file = home.parent / "memories.jsonl"
    done = run_command(home, "export", str(file), SCRUBJAY_EMBEDDER="none")
    assert (done.returncode, "exported 5 memories" in done.stdout) == (0, True), done.stderr
    assert not file.with_name(file.name + ".partial").exists()
    other = home.parent / "other"
    done = run_command(other, "import", str(file), "--json", SCRUBJAY_EMBEDDER="none")
    assert json.loads(done.stdout)["imported"] == 5, done.stderr
    recalled = run_command(other, "recall", "never on Fridays", "--json", SCRUBJAY_EMBEDDER="none")
    assert json.loads(recalled.stdout)["pinned"][0]["name"] == "calls-sarah", recalled.stderr
    file.write_bytes(b"\xff\xfe not text")
    refused = run_command(other, "import", str(file), SCRUBJAY_EMBEDDER="none")
    assert refused.returncode == 2
    assert "not UTF-8" in refused.stderr


async def everything(wiring: Wiring, *, space: str = "default") -> Everything:
    store = wiring.store
    ids = [memory_id async for memory_id in all_ids(wiring, space)]
    versions = {id_: await store.versions(space, id_, limit=1000) for id_ in ids}
    relations = {as_key(relation) for relation in await store.relations(space, ids)}
    return dict(sorted((await store.get(space, ids)).items())), versions, relations


async def all_ids(wiring: Wiring, space: str) -> AsyncIterator[str]:
    for state in State:
        for memory_id in sorted(await wiring.store.list_ids(space, Filter(state=state), limit=1000)):
            yield memory_id


def as_key(relation: Relation) -> tuple[object, ...]:
    return (*relation.key, relation.text, relation.strength, json.dumps(dict(relation.metadata)), relation.created_at)


def moved(everything: Everything) -> Everything:
    memories, versions, relations = everything
    past = {
        key: [replace(version, memory=replace(version.memory, space="")) for version in history]
        for key, history in versions.items()
    }
    return {key: replace(memory, space="") for key, memory in memories.items()}, past, relations
