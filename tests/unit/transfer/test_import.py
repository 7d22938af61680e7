"""Export and import: nothing is lost, nothing is stored twice."""

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from tests.fakes.build import DIMENSION, MODEL, START, a_commit, a_memory, an_edge, an_origin, vectors_for
from tests.new_files import NewStores
from tests.unit.harness import SPACE, Harness
from tests.unit.transfer.stores import fill_store

from scrubjay.errors import InvalidInput
from scrubjay.model.draft import Draft
from scrubjay.model.memory import Memory, State
from scrubjay.model.query import Filter
from scrubjay.model.transfer import SECTIONS, Imported
from scrubjay.model.version import Version
from scrubjay.ports import MemoryHistory
from scrubjay.storage.sqlite import SqliteStore
from scrubjay.transfer import export, import_
from scrubjay.transfer.export import export_lines, require_sections
from scrubjay.transfer.import_ import check_lines, import_lines
from scrubjay.transfer.lines import header, write_line


async def exported(harness: Harness) -> list[str]:
    return [line async for line in export_lines(space=SPACE, store=harness.store, now=START)]


async def imported(harness: Harness, lines: list[str], *, space: str = SPACE) -> Imported:
    return await import_lines(lambda: lines, space=space, origin=an_origin(), store=harness.store)


async def everything(harness: Harness, *, space: str = SPACE) -> dict[str, tuple[Memory, list[Version]]]:
    ids = [id_ for state in State for id_ in await harness.store.list_ids(space, Filter(state=state), limit=1000)]
    stored = await harness.store.get(space, ids)
    return {
        memory.id: (memory, await harness.store.versions(space, memory.id, limit=100)) for memory in stored.values()
    }


async def lived_in(harness: Harness) -> None:
    tea = await harness.store_draft(
        Draft(text="green tea", title="Tea", tags=("drink",), metadata={"cups": [1]}, pinned=True)
    )
    jay = await harness.store_draft(Draft(text="a scrub jay\x0b\n\u2028 …", observations=("blue", "clever")))
    gone = await harness.store_draft(Draft(text="cold milk", entities=("Sarah", "Acme")))
    await harness.revise(tea.id, content="black tea")
    await harness.revise(tea.id, title="Black tea")
    await harness.forget(gone.id)
    await harness.relate(tea.id, jay.id, text="drinks", strength=0.9, metadata={"a": 1})
    await harness.relate(jay.id, tea.id, relation="likes")
    await harness.store.touch(SPACE, [tea.id], at=START)


async def test_an_import_into_an_empty_store_makes_the_same_store(harness: Harness, new_store: NewStores) -> None:
    await lived_in(harness)
    lines = await exported(harness)
    other = Harness(store=new_store())
    done = await imported(other, lines)
    assert done == Imported(imported=4, known=0, relations=2)
    assert await everything(other) == await everything(harness)
    assert {
        relation.key: relation for relation in await other.store.relations(SPACE, list(await everything(other)))
    } == {relation.key: relation for relation in await harness.store.relations(SPACE, list(await everything(harness)))}
    assert sorted(await exported(other)) == sorted(lines)


async def test_an_export_is_valid_json_line_by_line(harness: Harness) -> None:
    await lived_in(harness)
    lines = await exported(harness)
    assert all("\n" not in line for line in lines)
    assert [next(iter(json.loads(line))) for line in lines] == ["scrubjay", *["memory"] * 4, *["relation"] * 2]


async def test_a_second_import_changes_nothing(harness: Harness) -> None:
    await lived_in(harness)
    before = await everything(harness)
    done = await imported(harness, await exported(harness))
    assert done == Imported(imported=0, known=4, relations=0)
    assert await everything(harness) == before


async def test_an_import_into_another_space_belongs_to_that_space(harness: Harness) -> None:
    await lived_in(harness)
    done = await imported(harness, await exported(harness), space="other")
    assert (done.imported, done.relations) == (4, 2)
    for memory, versions in (await everything(harness, space="other")).values():
        assert {memory.space, *(version.memory.space for version in versions)} == {"other"}


async def test_a_taken_name_gets_a_suffix_and_is_reported(harness: Harness, new_store: NewStores) -> None:
    mine = await harness.store_draft(Draft(text="mine", name="tea"))
    other = Harness(store=new_store())
    theirs = await other.store_draft(Draft(text="theirs", name="tea"))
    lines = await exported(other)
    done = await imported(harness, lines)
    name = f"tea-{theirs.id[-6:]}"
    assert done == Imported(imported=1, known=0, relations=0, renamed=(f"tea -> {name}",))
    assert (await harness.get(theirs.id)).name == name
    assert (await harness.get(mine.id)).name == "tea"
    # On the next import it is a known memory, and not reported as renamed.
    assert await imported(harness, lines) == Imported(imported=0, known=1, relations=0)


async def test_two_of_one_name_in_one_file(harness: Harness) -> None:
    lines = [header(SPACE, "2026-01-01T00:00:00Z")]
    for text in ("one", "two"):
        memory = a_memory(text, name="tea", space="")
        version = Version(number=1, memory=memory, parent=None, action="created", created_at=START)
        lines.append(write_line(MemoryHistory(memory=memory, versions=(version,))))
    lines.append(lines[-1])
    done = await imported(harness, lines)
    assert (done.imported, done.known, len(done.renamed)) == (2, 1, 1)


async def test_a_wrong_line_anywhere_stores_nothing(harness: Harness, new_store: NewStores) -> None:
    other = Harness(store=new_store())
    await lived_in(other)
    lines = [*await exported(other), "", "  ", '{"memory": {}}']
    with pytest.raises(InvalidInput, match="line 10: `id`") as caught:
        await imported(harness, lines)
    assert caught.value.fields["line"] == 10
    assert "Nothing was imported" in caught.value.hint
    assert await everything(harness) == {}


async def test_relations_to_missing_memories_are_left_out(harness: Harness, new_store: NewStores) -> None:
    other = Harness(store=new_store())
    tea, jay = a_memory("tea"), a_memory("jay")
    await other.store.commit(a_commit(tea, jay, an_edge(tea, jay)))
    lines = [line for line in await exported(other) if jay.id not in line or "relation" in line]
    done = await imported(harness, lines)
    assert (done.imported, done.relations) == (1, 0)


async def test_more_than_a_batch_and_progress(
    harness: Harness, monkeypatch: pytest.MonkeyPatch, new_store: NewStores
) -> None:
    monkeypatch.setattr(export, "_PAGE", 20)
    monkeypatch.setattr(import_, "_BATCH", 20)
    memories = [a_memory(f"tea {number}") for number in range(45)]
    await harness.store.commit(a_commit(*memories, *(an_edge(memories[0], memory) for memory in memories[1:30])))
    reports: list[tuple[int, int]] = []

    def progress(done: int, total: int) -> None:
        reports.append((done, total))

    lines = [line async for line in export_lines(space=SPACE, store=harness.store, now=START, progress=progress)]
    assert reports[-1] == (45, 45)
    assert check_lines(lambda: lines) == 45 + 29
    other = Harness(store=new_store())
    reports.clear()
    done = await import_lines(lambda: lines, space=SPACE, origin=an_origin(), store=other.store, progress=progress)
    assert (done.imported, done.relations) == (45, 29)
    assert reports == [(20, 74), (40, 74), (60, 74), (74, 74)]


async def test_a_memory_purged_during_the_export_is_left_out(harness: Harness, monkeypatch: pytest.MonkeyPatch) -> None:
    # A page is read at once: only memories of later pages can be purged before they are read.
    monkeypatch.setattr(export, "_PAGE", 1)
    for number in range(3):
        await harness.remember(f"tea {number}")
    lines: list[str] = []
    async for line in export_lines(space=SPACE, store=harness.store, now=START):
        lines.append(line)
        if len(lines) == 2:
            left = await harness.store.list_ids(SPACE, Filter(), limit=9)
            await harness.store.purge(SPACE, left[1:2], origin=an_origin())
    assert sum(line.startswith('{"memory"') for line in lines) == 2


async def test_an_imported_memory_can_be_revised(harness: Harness, new_store: NewStores) -> None:
    other = Harness(store=new_store())
    await lived_in(other)
    await imported(harness, await exported(other))
    (tea,) = [memory for memory, _ in (await everything(harness)).values() if memory.title == "Black tea"]
    done = await harness.revise(tea.id, content="white tea")
    assert done.version == tea.version + 1
    assert (await harness.recall("white tea")).pinned[0].id == tea.id
    assert replace(tea, content="white tea").content == (await harness.get(tea.id)).content


async def full_store(folder: Path) -> SqliteStore:
    store = await SqliteStore.open(folder / "full.db", readers=1)
    await fill_store(store)
    return store


async def test_optional_sections_are_exported_and_imported(tmp_path: Path) -> None:
    source, target = await full_store(tmp_path), await SqliteStore.open(tmp_path / "other.db", readers=1)
    lines = [line async for line in export_lines(space=SPACE, store=source, now=START, include=SECTIONS)]
    assert json.loads(lines[0])["scrubjay"] == 2
    assert json.loads(lines[0])["sections"] == list(SECTIONS)
    counts = Counter(next(iter(json.loads(line))) for line in lines[1:])
    assert counts == {"vector": 4, "memory": 8, "relation": 3, "answer": 1, "document": 2}
    assert "made" not in {json.loads(line).get("answer", {}).get("key") for line in lines}
    for imported in (8, 0):
        done = await import_lines(lambda: lines, space="there", origin=an_origin(), store=target)
        assert (done.imported, done.relations) == (imported, 3 if imported else 0)
    assert await target.find_answer("there", "made", b"d") == '{"id": 1}'
    assert len(await target.without_vectors(MODEL, limit=99)) == len(
        [space for space, _ in await source.without_vectors(MODEL, limit=99) if space == SPACE]
    )
    documents = [replace(document, space="there") for document in await source.all_documents(SPACE, limit=9)]
    assert await target.all_documents("there", limit=9) == documents
    again = [line async for line in export_lines(space="there", store=target, now=START, include=SECTIONS)]
    assert again[1:] == lines[1:]
    await source.close()
    await target.close()


async def test_sections_come_only_on_request_and_from_the_owner(tmp_path: Path, harness: Harness) -> None:
    store = await full_store(tmp_path)
    plain = [line async for line in export_lines(space=SPACE, store=store, now=START)]
    assert {next(iter(json.loads(line))) for line in plain} == {"scrubjay", "memory", "relation"}
    assert require_sections(["vectors", "documents"]) == ("documents", "vectors")
    with pytest.raises(InvalidInput, match="no section 'tokens'"):
        require_sections(["tokens"])
    for section in SECTIONS:
        lines = [line async for line in export_lines(space=SPACE, store=store, now=START, include=[section])]
        with pytest.raises(InvalidInput, match="only the owner"):
            await import_lines(lambda: lines, space=SPACE, origin=an_origin(), store=harness.store, with_sections=False)  # noqa: B023
    assert await everything(harness) == {}
    await store.close()


async def test_vectors_of_another_length_are_refused_before_anything_is_stored(
    tmp_path: Path, harness: Harness
) -> None:
    store = await full_store(tmp_path)
    lines = [line async for line in export_lines(space=SPACE, store=store, now=START, include=["vectors"])]
    memory = a_memory("other")
    embedded = vectors_for([memory], dimension=DIMENSION + 1)
    await harness.store.commit(a_commit(memory, embedded=embedded))
    with pytest.raises(InvalidInput, match="others of this model have"):
        await imported(harness, lines)
    assert list(await everything(harness)) == [memory.id]
    await store.close()


async def test_relations_before_their_memories_are_imported(harness: Harness, new_store: NewStores) -> None:
    await lived_in(harness)
    header_line, *lines = await exported(harness)
    other = Harness(store=new_store())
    assert await imported(other, [header_line, *reversed(lines)]) == Imported(imported=4, known=0, relations=2)
