"""Four flipped bytes on the disk are reported within days, and cost no more than the version that they are in."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import apsw
import psycopg
import pytest

from scrubjay.app import open_engine_and_store
from scrubjay.app.restore import restore_backup
from scrubjay.client import MemoryClient
from scrubjay.engine.scrub import known_damage, scrub
from scrubjay.errors import BodyDamaged, StoreDamaged
from scrubjay.model.change import Origin
from scrubjay.model.results import Check
from scrubjay.paths import database_file
from scrubjay.ports import RecordStore
from scrubjay.service import LocalService
from scrubjay.settings import Settings
from tests.backends import backend, drop_database, new_database
from tests.fakes import FakeClock
from tests.scenarios.wiring import run_command

PHRASE = "the committee on harbour affairs met again and decided nothing of note"
CLOCK = FakeClock(datetime(2026, 6, 1, tzinfo=UTC))


@dataclass(frozen=True, slots=True, kw_only=True)
class Damageable:
    """A memory on some backend, whose bodies can be damaged."""

    settings: Settings
    client: MemoryClient
    store: RecordStore

    def flip(self, memory_id: str, version: int) -> None:
        """Flip four bytes of a stored body, as a bad disk would."""
        which = "WHERE v.number = {0} AND v.memory_no = (SELECT no FROM {1}memories WHERE id = {0})"
        if not self.settings.database_url:
            with closing(apsw.Connection(str(database_file(self.settings.data)))) as file:
                values = (version, bytes.fromhex(memory_id.replace("-", "")))
                ((body,),) = file.execute(f"SELECT body FROM versions v {which.format('?', '')}", values).fetchall()
                file.execute(f"UPDATE versions AS v SET body = ? {which.format('?', '')}", (_flipped(body), *values))
            return
        with psycopg.connect(self.settings.database_url, autocommit=True) as database:
            where = which.format("%s", "scrubjay.")
            select = f"SELECT body FROM scrubjay.versions v {where}".encode()
            ((body,),) = database.execute(select, (version, memory_id)).fetchall()
            update = f"UPDATE scrubjay.versions v SET body = %s {where}".encode()
            database.execute(update, (_flipped(body), version, memory_id))

    def in_space(self, space: str) -> MemoryClient:
        """Return a client of another space."""
        client = MemoryClient(settings=self.settings, space=space)
        client._connection._service = self.client._connection._service  # pyright: ignore[reportAttributeAccessIssue]
        return client

    async def failing(self, *, deep: bool = False) -> dict[str, Check]:
        """Return the failing checks of `doctor`."""
        return {check.name: check for check in (await self.client.doctor(deep=deep)).checks if not check.ok}


def _flipped(body: bytes) -> bytes:
    return bytes(byte ^ 0xFF if 12 <= place < 16 else byte for place, byte in enumerate(body))


@pytest.fixture(params=["sqlite", "pgvector"])
def settings(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Settings]:
    with backend(request.param) as choice:
        yield Settings(home=str(tmp_path / "data"), embedder="none", write_rules="gate=off,conflicts=off", **choice)


@pytest.fixture
async def memory(settings: Settings) -> AsyncIterator[Damageable]:
    async with open_engine_and_store(settings) as (engine, store):
        client = MemoryClient(settings=settings)
        client._connection._service = LocalService.over(engine)  # pyright: ignore[reportAttributeAccessIssue]
        yield Damageable(settings=settings, client=client, store=store)


async def test_doctor_status_and_a_backup_name_the_damage_and_an_export_loses_one_version(
    memory: Damageable, tmp_path: Path
) -> None:
    hurt = await memory.client.remember(f"First: {PHRASE}", name="minutes")
    await memory.client.revise("minutes", text=f"Second: {PHRASE}")
    await memory.client.revise("minutes", text=f"Third: {PHRASE}")
    lost = await memory.client.remember(f"Only: {PHRASE}", name="only")
    sound = await memory.client.remember(f"Sound: {PHRASE}", name="sound")
    assert "bodies" not in await memory.failing()
    memory.flip(hurt.id, 3)
    memory.flip(lost.id, 1)
    bodies = (await memory.failing())["bodies"]
    assert f"{hurt.id} (version 3)" in bodies.detail
    assert f"{lost.id} (version 1)" in bodies.detail
    assert sound.id not in bodies.detail
    assert {"store", "bodies"} <= (await memory.failing(deep=True)).keys()
    assert any(hurt.id in note for note in (await memory.client.status()).degraded)

    target = tmp_path / "backup"
    with pytest.raises(BodyDamaged, match=f"backed up to .*{target.name}") as caught:
        await memory.client.backup(target)
    assert caught.value.fields["damaged"] == 2
    lines = [line async for line in memory.client.export()]
    assert len(lines) == 1 + 2 + 1
    assert f"Second: {PHRASE}" in "".join(lines)
    assert f"Third: {PHRASE}" not in "".join(lines)
    assert (hurt.id in lines[-1], lost.id in lines[-1], sound.id in lines[-1]) == (True, True, False)

    file = tmp_path / "export.jsonl"
    file.write_text("\n".join(lines), encoding="utf-8")
    copy = memory.in_space("copy")
    # The same ids may be in two spaces.
    assert (await copy.import_lines(file)).imported == 2
    copied = await copy.read(["minutes", "sound"])
    assert [memory.content for memory in copied.memories] == [f"Second: {PHRASE}", f"Sound: {PHRASE}"]

    await memory.client.revert(hurt.id, to=2)
    await memory.store.purge("default", [lost.id], origin=Origin(at=CLOCK.now(), run="purge", agent="tester"))
    assert lost.id not in (await memory.failing())["bodies"].detail
    checked = await memory.store.check_bodies("default", [hurt.id, sound.id, lost.id])
    assert (checked.read, [body.version for body in checked.damaged]) == (5, [3])


async def test_what_cannot_be_read_can_be_forgotten_and_purged(memory: Damageable) -> None:
    lost = await memory.client.remember(f"Only: {PHRASE}", name="only", title="The only one")
    hurt = await memory.client.remember(f"First: {PHRASE}", name="minutes")
    await memory.client.revise("minutes", text=f"Second: {PHRASE}")
    sound = await memory.client.remember(f"Sound: {PHRASE}", name="sound")
    memory.flip(lost.id, 1)
    memory.flip(hurt.id, 2)
    forgotten = await memory.client.forget(["only", "minutes", "sound"])
    assert [written.action for written in forgotten.done] == ["trashed"] * 3
    assert [written.warnings for written in forgotten.done] == [
        ("its text was damaged, and no version of it can be read",),
        ("version 2 was damaged; its text is that of version 1",), (),
    ]  # fmt: skip
    trashed = {item.name: item for item in (await memory.client.read([lost.id, hurt.id])).memories}
    assert (trashed["only"].title, trashed["only"].version) == ("The only one", 2)
    assert "damaged on the disk" in trashed["only"].content
    assert trashed["minutes"].content == f"First: {PHRASE}"
    # Also what is damaged in the trash.
    memory.flip(sound.id, 2)
    memory.flip(sound.id, 1)
    purged = await memory.client.purge(["only", "minutes", "sound"])
    assert [written.action for written in purged.done] == ["purged"] * 3
    assert await memory.store.ids("default", limit=9) == []
    assert not {"store", "bodies"} & (await memory.failing(deep=True)).keys()


async def test_a_restored_backup_has_the_damage_that_was_known_and_no_other(memory: Damageable, tmp_path: Path) -> None:
    hurt = await memory.client.remember(f"First: {PHRASE}", name="minutes")
    await memory.client.revise("minutes", text=f"Second: {PHRASE}")
    memory.flip(hurt.id, 1)
    with pytest.raises(BodyDamaged):
        await memory.client.backup(tmp_path / "backup")
    if memory.settings.database_url:
        url = new_database()
        try:
            other = Settings(home=str(tmp_path / "other"), database_url=url)
            assert (await asyncio.to_thread(restore_backup, other, tmp_path / "backup")).memories == 1
        finally:
            drop_database(url)
        return
    other = Settings(home=str(tmp_path / "other"))
    assert restore_backup(other, tmp_path / "backup").memories == 1
    Damageable(settings=other, client=memory.client, store=memory.store).flip(hurt.id, 2)
    database_file(other.data).rename(tmp_path / "worse")
    with pytest.raises(StoreDamaged, match=r"version 2"):
        restore_backup(other, tmp_path / "worse")


async def test_a_scrub_reads_every_body_in_turn_and_forgets_what_is_sound_again(memory: Damageable) -> None:
    await memory.client.remember_many([{"text": f"Minute {n}: {PHRASE}"} for n in range(250)])
    ids = await memory.store.ids("default", limit=250)
    rounds = [await scrub("default", bodies=100, store=memory.store, clock=CLOCK) for _ in range(3)]
    assert [(part.read, part.ended) for part in rounds] == [(100, False), (100, False), (50, True)]
    memory.flip(ids[220], 1)
    counts = [len((await scrub("default", bodies=100, store=memory.store, clock=CLOCK)).damaged) for _ in range(3)]
    assert counts == [0, 0, 1]
    assert [body.memory_id for body in await known_damage("default", store=memory.store)] == [ids[220]]
    memory.flip(ids[220], 1)
    assert (await scrub("default", bodies=100, store=memory.store, clock=CLOCK)).damaged == ()
    assert await known_damage("default", store=memory.store) == ()
    memory.flip(ids[220], 1)
    planned = [await memory.client.curate(["bodies"], dry_run=True) for _ in range(2)]
    assert [report.planned for report in planned] == [1, 1], "a dry run stores nothing"
    assert await known_damage("default", store=memory.store) == ()
    reports = [await memory.client.curate(["bodies"]) for _ in range(3)]
    assert [len(report.changes) for report in reports].count(1) == 1
    assert [body.memory_id for body in await known_damage("default", store=memory.store)] == [ids[220]]
    assert (await scrub("empty", bodies=100, store=memory.store, clock=CLOCK)).ended


def test_the_command_exports_what_can_be_read_and_fails(tmp_path: Path) -> None:
    home = tmp_path / "data"
    for name in ("minutes", "sound"):
        run_command(home, "remember", f"{name}: {PHRASE}", "--name", name, SCRUBJAY_EMBEDDER="none")
    with closing(apsw.Connection(str(database_file(home)))) as file:
        ((body,),) = file.execute("SELECT body FROM versions WHERE memory_no = 1").fetchall()
        file.execute("UPDATE versions SET body = ? WHERE memory_no = 1", (_flipped(body),))
    done = run_command(home, "export", str(tmp_path / "out.jsonl"))
    assert (done.returncode, done.stdout.splitlines()[0]) == (1, f"exported 1 memories to {tmp_path / 'out.jsonl'}")
    assert "left out" in done.stdout
    piped = run_command(home, "export")
    assert (piped.returncode != 0, len(piped.stdout.splitlines())) == (True, 3)
    assert "not complete" in piped.stderr
    backed = run_command(home, "backup", "create", str(tmp_path / "copy.db"))
    assert (backed.returncode != 0, (tmp_path / "copy.db").exists()) == (True, True)
    assert "verified" not in backed.stdout
