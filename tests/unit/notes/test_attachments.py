"""Attachments: stored once, embedded, found by text and by picture, and confined to the folder."""

import asyncio
import hashlib
import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from tests.fakes import FakeEmbedder
from tests.scenarios.wiring import open_wiring
from tests.unit.notes.files import docx, png
from tests.unit.tiny_models import write_clip

from scrubjay.app import open_engine
from scrubjay.app.notes import open_notes
from scrubjay.engine import Engine
from scrubjay.errors import InvalidInput, NotFound, ScrubjayError, TooLarge
from scrubjay.model.caller import Caller
from scrubjay.model.draft import Draft
from scrubjay.model.media import ATTACHMENT
from scrubjay.model.memory import Json, Memory, Trust
from scrubjay.model.query import Filter
from scrubjay.model.requests import AttachFileRequest, Edit, ForgetRequest, RecallRequest, WriteNoteRequest
from scrubjay.notes.attachments.service import Attachments
from scrubjay.notes.attachments.storage import NoteMedia
from scrubjay.notes.files.folder import Folder
from scrubjay.settings import Settings
from scrubjay.storage.sqlite import SqliteStore

WHO = Caller(agent="tester")
HOSTILE = ("../../etc/passwd.png", "/etc/shadow", "a\nb.png", "..\\..\\x.png", "%2e%2e%2fx.png", "con.png", "ä" * 400)


@dataclass(frozen=True, kw_only=True)
class AttachmentWorld:
    """An engine, a folder of notes, and their attachments."""

    engine: Engine
    store: SqliteStore
    root: Path
    attachments: Attachments
    embedder: FakeEmbedder

    async def note(self, text: str = "A note that says enough to be kept", *, title: str = "Plan") -> Memory:
        done = await self.engine.remember(Draft(text=text, title=title, intent="new"), who=WHO)
        return await self.now(done.id)

    async def now(self, memory_id: str) -> Memory:
        return (await self.engine.reader.get("default", [memory_id]))[memory_id]

    async def cards(self) -> list[Memory]:
        ids = await self.engine.reader.list_ids("default", Filter(kind=ATTACHMENT), limit=99)
        return list((await self.engine.reader.get("default", ids)).values())

    async def find_titles(self, query: str, **filter: Json) -> list[str]:
        question = RecallRequest(query=query, filter=Filter(**filter))  # type: ignore[arg-type]
        return [hit.title for hit in (await self.engine.recall(question, who=WHO)).hits]

    def put(self, path: str, data: bytes) -> None:
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).write_bytes(data)


@asynccontextmanager
async def a_room(folder: Path, *, sees: bool = False, largest: int = 1_000_000) -> AsyncGenerator[AttachmentWorld]:
    embedder = FakeEmbedder(media=("image",) if sees else ())
    async with open_wiring(folder / "data", embedder=embedder, index=False) as wiring:
        root = folder / "notes"
        Folder(root).open(store_id=wiring.store.store_id, space="default")
        engine = replace(wiring.engine, media_source=NoteMedia(root))
        attachments = Attachments(engine, root=root, space="default", largest=largest)
        yield AttachmentWorld(
            engine=engine, store=wiring.store, root=root.resolve(), attachments=attachments, embedder=embedder
        )


async def test_a_file_is_stored_once_and_found_by_its_text(tmp_path: Path) -> None:
    async with a_room(tmp_path) as room:
        note, other = await room.note(), await room.note(title="Other")
        source = tmp_path / "Quarterly Report.docx"
        source.write_bytes(docx("Revenue of the aardvark department"))
        done = await room.attachments.attach(note.id, path=source, caption="For the [board] | May", who=WHO)
        digest = hashlib.sha256(source.read_bytes()).hexdigest()
        assert done.action == "created"
        assert not done.warnings
        attached = done.attachment
        assert attached.file == f"attachments/quarterly-report-{digest[:12]}.docx"
        assert (attached.sha256, attached.bytes, attached.caption) == (
            digest,
            source.stat().st_size,
            "For the (board) / May",
        )
        place = room.root / attached.file
        assert attached.path == place
        assert place.read_bytes() == source.read_bytes()
        assert (place.stat().st_mode & 0o777, place.parent.stat().st_mode & 0o777) == (0o600, 0o700)
        assert (await room.now(note.id)).content == f"{note.content}\n\n{attached.embed}"
        record = await room.now(attached.id)
        assert (record.title, record.source.trust) == ("Quarterly Report.docx", Trust.DOCUMENT)
        assert record.content == "For the (board) / May\n\nRevenue of the aardvark department"
        for query in ("aardvark department", "board May", "quarterly report"):
            assert "Quarterly Report.docx" in await room.find_titles(query)
        again = await room.attachments.attach(other.id, data=source.read_bytes(), name="copy.docx", who=WHO)
        assert (again.action, again.attachment) == ("known", attached)
        assert [path.name for path in (room.root / "attachments").iterdir()] == [attached.file.partition("/")[2]]
        assert (await room.now(other.id)).content.endswith(f"![[{attached.file.partition('/')[2]}]]")
        assert await room.attachments.attachments_of("Other", who=WHO) == (attached,)
        third = await room.attachments.attach(other.id, data=source.read_bytes(), name="x", caption="New", who=WHO)
        assert third.attachment.caption == "New"
        assert (await room.now(attached.id)).content == "New\n\nRevenue of the aardvark department"
        assert (await room.now(other.id)).content.count("![[") == 1
        async with room.attachments.content(attached.name, who=WHO) as (attachment, pieces):
            assert (attachment.id, b"".join([piece async for piece in pieces])) == (attached.id, source.read_bytes())


async def test_two_concurrent_callers_attach_the_same_bytes(tmp_path: Path) -> None:
    async with a_room(tmp_path) as room:
        note = await room.note()
        work = [
            room.attachments.attach(note.id, data=png("same"), name=f"{name}.png", who=WHO) for name in "abcde"
        ]  # fmt: skip
        done = await asyncio.gather(*work)
        assert len({result.attachment.id for result in done}) == 1
        (card,) = await room.cards()
        orphans = await room.attachments.orphans()
        assert [orphan.why for orphan in orphans.orphans if orphan.id] == []
        assert (room.root / str(card.metadata["file"])).is_file()


@pytest.mark.parametrize("sees", [False, True])
async def test_a_picture_is_found_by_its_content_if_the_model_sees(tmp_path: Path, *, sees: bool) -> None:
    async with a_room(tmp_path, sees=sees) as room:
        note = await room.note()
        data = png("penguins skating quietly")
        done = await room.attachments.attach(note.id, data=data, name="img_0042.png", who=WHO)
        await room.attachments.attach((await room.note(title="Two")).id, data=data, name="again.png", who=WHO)
        assert room.embedder.seen == ([data] if sees else [])
        if sees:
            assert (await room.find_titles("penguins skating quietly"))[0] == "img_0042.png"
        broken = await room.attachments.attach(note.id, data=png("x")[:4] + b"\r\n\x1a\nbroken", name="b.png", who=WHO)
        assert broken.attachment.media_type == "image/png"
        profile = await room.embedder.profile()
        assert await room.store.without_vectors(profile.model, limit=9) == []
        # After a change of the model, the picture is embedded again.
        eyes = FakeEmbedder(model="other-64", media=("image",))
        later = replace(room.engine, embedder=eyes)
        (room.root / broken.attachment.file).unlink()
        await later.backfill()
        assert eyes.seen == [data]
        assert [memory_id for _, memory_id in await room.store.without_vectors("other-64", limit=9)] == [
            broken.attachment.id
        ]
        # Only the exact bytes that a memory names are returned.
        card = await room.now(done.attachment.id)
        media_source = NoteMedia(room.root)
        assert await media_source.media(card) is not None
        (tmp_path / "secret.png").write_bytes(data)
        for facts in ({"file": "../secret.png"}, {"sha256": "0" * 64}, {"file": ""}, {"media_type": "image/svg+xml"}):
            assert await media_source.media(replace(card, metadata={**card.metadata, **facts})) is None


async def test_embedded_files_become_attachments_at_their_paths(tmp_path: Path) -> None:
    async with a_room(tmp_path) as room:
        room.put("work/pictures/Cat.png", png("cat"))
        room.put("top.txt", b"The harvest of walnuts begins in October")
        content = (
            "![[cat.PNG|A cat]] ![[top.txt]] ![[pictures/cat.png|300x200]] ![[gone.pdf]] ![[Some note]] "
            "`![[code.png]]` [[top.txt]] ![[../../etc/passwd.txt]]"
        )
        note = await room.note(content)
        taken = await room.attachments.take_embeds(note, content)
        assert taken.missing == ("gone.pdf", "../../etc/passwd.txt")
        assert len(taken.attached) == 2
        assert not taken.warnings
        cat, walnuts = [await room.now(id_) for id_ in taken.attached]
        assert (cat.metadata["file"], cat.metadata["caption"]) == ("work/pictures/Cat.png", "A cat")
        assert (await room.find_titles("walnuts harvest"))[0] == "top.txt"
        assert (await room.now(note.id)).version == note.version
        assert await room.attachments.take_embeds(note, content) == taken
        assert await room.attachments.appeared(["elsewhere.pdf"]) == ()
        room.put("late/gone.pdf", b"%PDF-1.7 and nothing else")
        assert await room.attachments.appeared(["late/Gone.pdf"]) == (note.id,)
        assert len(await room.attachments.attachments_of(note.id, who=WHO)) == 3
        # Move a file, change another, and remove an embed.
        (room.root / "work/pictures/Cat.png").rename(room.root / "Tiger.png")
        room.put("top.txt", b"The harvest of chestnuts begins in October")
        assert await room.attachments.follow() == 2
        assert (await room.now(cat.id)).metadata["file"] == "Tiger.png"
        assert (await room.now(walnuts.id)).content == "The harvest of chestnuts begins in October"
        assert await room.attachments.follow() == 0
        # Changes are noticed at once, even if the size stays the same.
        (room.root / "Tiger.png").rename(room.root / "Lion.png")
        room.put("top.txt", b"The harvest of chestnuts begins in November"[:42])
        assert await room.attachments.appeared(["Tiger.png", "Lion.png", "top.txt"]) == ()
        assert (await room.now(cat.id)).metadata["file"] == "Lion.png"
        assert (await room.now(walnuts.id)).content == "The harvest of chestnuts begins in Novembe"
        (room.root / "Lion.png").rename(room.root / "Tiger.png")
        await room.attachments.appeared(["Lion.png", "Tiger.png"])
        room.put("top.txt", b"Something else entirely")
        taken = await room.attachments.take_embeds(note, "![[top.txt|Words]]")
        assert taken.attached == (walnuts.id,)
        assert (await room.now(walnuts.id)).content == "Words\n\nSomething else entirely"
        assert [attachment.id for attachment in await room.attachments.attachments_of(note.id, who=WHO)] == [walnuts.id]
        orphans = (await room.attachments.orphans()).orphans
        assert {(orphan.why, orphan.file) for orphan in orphans} == {
            ("no note embeds it", "Tiger.png"),
            ("no note embeds it", "late/gone.pdf"),
        }


async def test_files_that_no_note_embeds_stay_and_are_reported(tmp_path: Path) -> None:
    async with a_room(tmp_path) as room:
        note = await room.note()
        done = await room.attachments.attach(note.id, data=png("a"), name="a.png", who=WHO)
        room.put("attachments/stray.bin", b"\0\1")
        await room.engine.forget(ForgetRequest(ids=(note.id,)), who=WHO)
        assert {(orphan.why, orphan.file) for orphan in (await room.attachments.orphans()).orphans} == {
            ("no note embeds it", done.attachment.file),
            ("no memory describes it", "attachments/stray.bin"),
        }
        (room.root / done.attachment.file).unlink()
        assert "its file is missing" in {orphan.why for orphan in (await room.attachments.orphans()).orphans}
        assert (await room.attachments.attachment(done.attachment.id, who=WHO)).path is None
        with pytest.raises(NotFound):
            async with room.attachments.content(done.attachment.id, who=WHO):
                pass
        other = await room.note(title="Other")
        back = await room.attachments.attach(other.id, data=png("a"), name="b.png", who=WHO)
        assert (back.action, back.attachment.id) == ("known", done.attachment.id)
        assert back.attachment.path is not None


async def test_bad_files_leave_nothing_behind(tmp_path: Path) -> None:
    async with a_room(tmp_path, largest=10_000) as room:
        note = await room.note()
        os.mkfifo(tmp_path / "pipe")
        bad: list[tuple[dict[str, object], type[Exception], str]] = [
            ({"data": b""}, InvalidInput, "empty"),
            ({"data": bytes(10_001)}, TooLarge, "more than 10,000 bytes"),
            ({"path": tmp_path / "none"}, InvalidInput, "cannot be read"),
            ({"path": tmp_path / "pipe"}, InvalidInput, "is not a file"),
            ({"path": tmp_path}, InvalidInput, "is not a file"),
            ({}, InvalidInput, "either"),
            ({"data": b"Do not remember this.", "name": "a.txt"}, InvalidInput, "must not be remembered"),
        ]
        for arguments, error, why in bad:
            with pytest.raises(error, match=why):
                await room.attachments.attach(note.id, who=WHO, **arguments)  # type: ignore[arg-type]
        with pytest.raises(InvalidInput, match="space"):
            await room.attachments.attach(note.id, data=b"x", who=Caller(space="other"))
        with pytest.raises(NotFound):
            await room.attachments.attach("nobody", data=b"x", who=WHO)
        with pytest.raises(NotFound, match="not an attachment"):
            await room.attachments.attachment(note.id, who=WHO)
        assert not list((room.root / "attachments").iterdir())
        assert not await room.cards()
        assert await room.now(note.id) == note
        for number, name in enumerate(HOSTILE):
            done = await room.attachments.attach(note.id, data=b"text %d" % number, name=name, who=WHO)
            assert done.attachment.path is not None
            assert done.attachment.path.parent == room.root / "attachments"
            assert done.attachment.path.is_file()
        with pytest.raises(InvalidInput, match="NUL"):
            await room.attachments.attach(note.id, data=b"x", name="a\0b.png", who=WHO)
        attached = await room.attachments.attach(note.id, data=png("x"), name="a.jpg", who=WHO)
        with pytest.raises(InvalidInput, match="an attachment itself"):
            await room.attachments.attach(attached.attachment.id, data=b"x", who=WHO)
        assert attached.warnings == ("its name ends in .jpg, but it is image/png",)
        assert attached.attachment.file.endswith(".png")


async def test_no_link_is_followed(tmp_path: Path) -> None:
    async with a_room(tmp_path) as room:
        (tmp_path / "secret.txt").write_text("A secret recipe for walnuts", encoding="utf-8")
        (room.root / "link.txt").symlink_to(tmp_path / "secret.txt")
        (room.root / "out").symlink_to(tmp_path)
        note = await room.note("![[link.txt]] ![[out/secret.txt]] ![[secret.txt]]")
        taken = await room.attachments.take_embeds(note, note.content)
        assert not taken.attached
        assert len(taken.missing) == 3
        room.put("real.txt", b"words")
        (card,) = (await room.attachments.take_embeds(note, "![[real.txt]]")).attached
        facts = (await room.now(card)).metadata
        for file in ("out/secret.txt", "link.txt", "../secret.txt", str(tmp_path / "secret.txt")):
            await room.engine.apply_edit(card, Edit(fields={"metadata": {**facts, "file": file}}), who=WHO)
            with pytest.raises((NotFound, InvalidInput)):
                async with room.attachments.content(card, who=WHO):
                    pass
        (room.root / "attachments").symlink_to(tmp_path)
        with pytest.raises(ScrubjayError, match="cannot be used"):
            await room.attachments.attach(note.id, data=b"x", name="x.txt", who=WHO)
        assert sorted(path.name for path in tmp_path.iterdir()) == ["data", "notes", "secret.txt"]


async def test_words_find_a_picture_with_a_model_that_sees(tmp_path: Path) -> None:
    write_clip(tmp_path / "clip")
    settings = Settings(
        home=str(tmp_path / "data"), embedder="clip", embedding_model=str(tmp_path / "clip"), vector_index="scan"
    )
    async with open_engine(settings) as engine, open_notes(settings, engine) as notes:
        for text in ("The rent is due at the end of the month", "Something green grows in the garden"):
            await engine.remember(Draft(text=text, intent="new"), who=WHO)
        note = await notes.write_note(WriteNoteRequest(title="Pictures", content="All pictures that we have"), who=WHO)
        for name, colour in (("0001.png", (250, 20, 20)), ("0002.png", (20, 20, 250))):
            await notes.attach_file(AttachFileRequest(note=note.id, name=name, data=png(colour=colour)), who=WHO)
        for question, first in (("red", "0001.png"), ("blue", "0002.png")):
            hits = (await engine.recall(RecallRequest(query=question), who=WHO)).hits
            assert hits[0].title == first
        # A file that another program adds is noticed a moment later.
        (settings.notestore / "green.png").write_bytes(png(colour=(20, 250, 20)))
        attachments = Attachments(engine, root=settings.notestore, space="default")
        memory = (await engine.reader.get("default", [note.id]))[note.id]
        (green,) = (await attachments.take_embeds(memory, "![[green.png]]")).attached
        await asyncio.gather(*attachments._embedding_tasks)
        await attachments.close()
        question = RecallRequest(query="green", filter=Filter(kind=ATTACHMENT))
        assert (await engine.recall(question, who=WHO)).hits[0].id == green
        assert await engine.backfill() == 0
