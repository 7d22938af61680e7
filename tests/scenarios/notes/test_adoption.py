"""A vault of Obsidian is taken in place: its files stay as they are, and later changes touch what changed alone."""

import zipfile
from pathlib import Path

import pytest

from scrubjay.app import open_engine
from scrubjay.app.notes import open_notes
from scrubjay.model.attachments import EMBEDS
from scrubjay.model.caller import Caller
from scrubjay.model.memory import State
from scrubjay.model.query import Filter
from scrubjay.model.requests import (
    ExportNotesRequest,
    ImportNotesRequest,
    SyncNotesRequest,
    UndoRequest,
    WriteNoteRequest,
)
from scrubjay.settings import Settings
from tests.scenarios.notes.harness import AGENT, SPACE, VaultHarness, open_harness
from tests.scenarios.notes.obsidian import links_of, make_vault, snapshot


async def _ids(harness: VaultHarness) -> dict[str, str]:
    """Return the ids of the notes by their paths."""
    return {path: id_ for path in snapshot(harness.root) if (id_ := await harness.vault.find_id(path))}


async def _attached(harness: VaultHarness, memory_id: str) -> set[str]:
    relations = await harness.engine.reader.relations(SPACE, [memory_id])
    return {relation.target for relation in relations if relation.type == EMBEDS}


async def test_a_vault_is_adopted_and_left_byte_identical(home: Path) -> None:
    root = home / "vault"
    make_vault(root)
    (root / "Archive/Old.md").write_bytes(b"Of two notes with one name, [[Notes]] is the one beside this file.")
    before = snapshot(root)
    async with open_harness(home, root=root) as harness:
        synced = await harness.sync()
        assert snapshot(root) == before
        assert (synced.problems, synced.written) == ((), 0)
        (copy,) = (root / ".scrubjay").glob("*.zip")
        with zipfile.ZipFile(copy) as archive:
            assert {name: archive.read(name) for name in archive.namelist()} == {
                path: data for path, data in before.items() if path.endswith(".md")
            }
        ids = await _ids(harness)
        assert set(ids) == {p for p in before if p.endswith(".md") and not p.startswith("Meta/") and p != "Empty.md"}
        heron = await harness.get(ids["Projects/Heron.md"])
        assert (heron.title, heron.category, heron.source.at and heron.source.at.year) == ("Heron", "Projects", 2023)
        assert set(heron.tags) == {"project/bird", "outdoor", "field-work"}
        assert "[unclosed" in (await harness.get(ids["Broken head.md"])).content
        # The memories are linked as Obsidian links their files; a link shows at both ends.
        pairs = {frozenset((path, end)) for path, ends in links_of(root).items() for end in ends if end != path}
        for path, id_ in ids.items():
            others = {end for pair in pairs if path in pair for end in pair if end in ids and end != path}
            assert await harness.links(id_) == {ids[other] for other in others} | await _attached(harness, id_), path
        await harness.sync()
        assert snapshot(root) == before
    # The ledger can be rebuilt: nothing is stored twice, and still no file has changed.
    (home / "index" / "notes.db").unlink()
    async with open_harness(home, root=root) as harness:
        await harness.sync()
        assert (await _ids(harness), snapshot(root)) == (ids, before)
        assert len(await harness.engine.reader.list_ids(SPACE, Filter(), limit=100)) == len(ids) + 1


@pytest.mark.parametrize("at_once", [1, 3, 64])
async def test_links_do_not_depend_on_which_file_is_read_first(
    home: Path, monkeypatch: pytest.MonkeyPatch, at_once: int
) -> None:
    """Of notes with one name a link means the same one, whether that was read already or not."""
    root = home / "vault"
    texts = {
        "a/Early.md": "[[Dup]]", "a/Late.md": "[[x/Dup]]", "m/Dup.md": "of m", "n/Aspen.md": "[[Dup]], [[Elm]]",
        "n/Dup.md": "of n, as [[m/Dup]]", "x/Aspen.md": "[[Dup]], [[n/Dup|n]]", "x/Dup.md": "of x, as [[../n/Dup]]",
        "x/deep/Elm.md": "[[../Dup]]", "x/deep/Fir.md": "[[m/Dup]], [[y/Dup]]",
    }  # fmt: skip
    for path, text in texts.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, encoding="utf-8")
    pairs = {frozenset((path, end)) for path, ends in links_of(root).items() for end in ends if end}
    async with open_harness(home, root=root) as harness:
        with monkeypatch.context() as patch:
            patch.setattr("scrubjay.notes.vault._CHUNK", at_once)
            await harness.sync()
        # A name that no file had: both files come at once, and one is beside the note that has named it all along.
        harness.save("z/Gum.md", "See [[Yew]] and [[b/Yew]].")
        await harness.sync()
        added = ("b/Yew.md", "z/Yew.md")
        await harness.vault.sync_paths([str(harness.save(path, path).relative_to(root)) for path in added])
        pairs |= {frozenset(("z/Gum.md", path)) for path in added}
        # An agent's text means what a file's does.
        ids = await _ids(harness)
        await harness.edit(ids["z/Yew.md"], content="Now [[Dup]] and [[n/Dup]].")
        await harness.sync()
        pairs |= {frozenset(("z/Yew.md", end)) for end in ("m/Dup.md", "n/Dup.md")}
        for path, id_ in ids.items():
            others = {end for pair in pairs if path in pair for end in pair - {path} if end in ids}
            paths = {id_: path for path, id_ in ids.items()}
            assert {paths[other] for other in await harness.links(id_)} == others, path


async def test_changes_touch_only_what_changed(home: Path) -> None:
    root = home / "vault"
    before = make_vault(root)
    async with open_harness(home, root=root) as harness:
        await harness.sync()
        ids = await _ids(harness)
        heron, crane = ids["Projects/Heron.md"], ids["Projects/Crane.md"]
        text = (await harness.get(heron)).content
        await harness.edit(heron, content=text.replace("400", "500"), tags=["project/bird", "field-work", "paid"])
        await harness.edit(crane, content=(await harness.get(crane)).content.replace("Plan.", "A plan."))
        await harness.sync()
        expected = before["Projects/Heron.md"].replace(b"400", b"500").replace(b"-   outdoor", b"- paid")
        changed = {path: data for path, data in snapshot(root).items() if data != before[path]}
        assert changed == {
            "Projects/Heron.md": expected,
            "Projects/Crane.md": before["Projects/Crane.md"].replace(b"Plan.", b"A plan."),
        }
        harness.save("Projects/Heron.md", expected.decode().replace("rating:    4", "rating:    5"))
        await harness.sync()
        assert "rating:    5" in str((await harness.get(heron)).metadata)
        assert (root / "Projects/Heron.md").read_bytes() == expected.replace(b"rating:    4", b"rating:    5")


async def test_moved_deleted_and_forgotten_files_are_followed_and_never_lost(home: Path) -> None:
    root = home / "vault"
    before = make_vault(root)
    async with open_harness(home, root=root) as harness:
        await harness.sync()
        ids = await _ids(harness)
        (root / "Archive/Notes.md").rename(root / "archive-notes.md")
        (root / "Reading list.md").rename(root / "reading list.md")
        await harness.sync()
        moved = await _ids(harness)
        assert moved["archive-notes.md"] == ids["Archive/Notes.md"]
        assert moved["reading list.md"] == ids["Reading list.md"]
        assert (await harness.get(moved["archive-notes.md"])).title == "archive-notes"
        assert b"[[archive-notes|the old ones]]" in (root / "Projects/Notes.md").read_bytes()
        # Only the case has changed, and links ignore it.
        assert (root / "Home.md").read_bytes() == before["Home.md"]
        await harness.forget(ids["Mixed ends.md"])
        await harness.sync()
        assert (root / ".trash/Mixed ends.md").read_bytes() == before["Mixed ends.md"]
        await harness.restore(ids["Mixed ends.md"])
        await harness.sync()
        assert (root / "Mixed ends.md").read_bytes() == before["Mixed ends.md"]
        # After an undo of its creation, the memory is gone and the file still the user's: an edit brings both together.
        versions = await harness.engine.reader.versions(SPACE, ids["Broken head.md"], limit=1)
        await harness.engine.undo(UndoRequest(run=versions[0].run), who=AGENT)
        await harness.sync()
        assert (await harness.get(ids["Broken head.md"])).state is State.TRASHED
        assert (root / "Broken head.md").read_bytes() == before["Broken head.md"]
        harness.save("Broken head.md", before["Broken head.md"].decode() + "And one more line.\n")
        await harness.sync()
        assert (await harness.get(ids["Broken head.md"])).state is State.LIVE


async def test_links_of_an_imported_vault_resolve_in_obsidian(home: Path) -> None:
    source, folder, exported = home / "vault", home / "notes", home / "exported"
    make_vault(source)
    (source / "What is this?.md").write_text("A question; its answer is in [[Home]].\n")
    (source / "Answers.md").write_text("![[map.png]] ![[copy.png]] [[What is this?]] and [[What is this?#End|here]].\n")
    (source / "copy.png").write_bytes((source / "assets/map.png").read_bytes())
    settings = Settings(home=str(home), notestore_path=str(folder), embedder="none", vector_index="scan", readers=1)
    who = Caller(space=SPACE, agent="tester", run="import")
    async with open_engine(settings) as engine, open_notes(settings, engine) as notes:
        # The name of a note of the vault is taken.
        first = await notes.write_note(WriteNoteRequest(title="Other", content="Mine."), who=AGENT)
        Path(first.file_path).rename(folder / "Home.md")
        await notes.sync_notes(SyncNotesRequest(), who=AGENT)
        done = await notes.import_notes(ImportNotesRequest(folder=source), who=who)
        assert (done.created, done.attachments, [link.target for link in done.broken_links]) == (10, 2, ["Unwritten"])
        memories = await engine.reader.get(SPACE, await engine.reader.list_ids(SPACE, Filter(), limit=99))
        own = {
            str(memory.metadata["imported_path"]): str(memory.metadata["vault_path"])
            for memory in memories.values()
            if "imported_path" in memory.metadata
        }
        attached = {"assets/map.png", "copy.png"}
        for path, ends in links_of(source).items():
            if path in own:
                now = [end if end is None or end.endswith(".md") else "" for end in links_of(folder)[own[path]]]
                assert now == ["" if end in attached else own.get(end or "") for end in ends], path
        assert "[[What is this|What is this?]] and [[What is this#End|here]]" in (folder / "Answers.md").read_text()
        assert 'aliases: ["What is this?"]' in (folder / "What is this.md").read_text()
        assert (folder / "Home.md").read_text().endswith("Mine.\n")
        await notes.export_notes(ExportNotesRequest(target=exported), who=who)
        broken = {path for path, ends in links_of(exported).items() if None in ends}
        assert broken == {"Reading list.md"}
        # What the import attached goes with it.
        await engine.undo(UndoRequest(run="import"), who=who)
        assert await engine.reader.list_ids(SPACE, Filter(state=State.LIVE), limit=9) == [first.id]
