"""A request that is sent twice at the same time gets the answer of the first."""

from collections.abc import Awaitable, Callable
from typing import TypeVar

from tests.new_files import NewStores
from tests.unit.harness import SPACE, Harness

from scrubjay.model.draft import Draft
from scrubjay.model.requests import Edit
from scrubjay.model.results import Remembered, Undone, Written
from scrubjay.storage.sqlite import SqliteStore
from scrubjay.versions.undo import undo

Answer = TypeVar("Answer")
KEY = "once"


class OvertakenStore(SqliteStore):
    """A store that can run a callable right after a request has looked for its earlier answer."""

    faster: Callable[[], Awaitable[object]] | None = None

    async def find_answer(self, space: str, key: str, digest: bytes) -> str | None:
        answer = await super().find_answer(space, key, digest)
        if (faster := self.faster) is not None:
            self.faster = None
            await faster()
        return answer


async def both(store: OvertakenStore, ask: Callable[[], Awaitable[Answer]]) -> tuple[Answer, Answer]:
    """Return the answers of the faster request and of the slower one."""
    first: list[Answer] = []

    async def faster() -> None:
        first.append(await ask())

    store.faster = faster
    late = await ask()
    return first[0], late


async def test_by_a_remember(new_store: NewStores) -> None:
    store = new_store(OvertakenStore)
    harness = Harness(store=store)

    async def ask() -> Remembered:
        return await harness.remember(Draft(text="Sarah prefers tea", idempotency_key=KEY))

    first, late = await both(store, ask)
    assert (late.action, late.id, late.version) == ("created", first.id, 1)


async def test_by_a_revise(new_store: NewStores) -> None:
    store = new_store(OvertakenStore)
    harness = Harness(store=store)
    memory = await harness.store_draft("tea")

    async def ask() -> Written:
        return await harness.revise(memory.id, Edit(fields={"content": "coffee"}, idempotency_key=KEY))

    first, late = await both(store, ask)
    assert late == first
    assert (late.action, late.version) == ("updated", 2)


async def test_by_an_undo(new_store: NewStores) -> None:
    store = new_store(OvertakenStore)
    harness = Harness(store=store)
    await harness.remember("tea")

    async def ask() -> Undone:
        return await undo(run="", agent="tester", space=SPACE, origin=harness.origin(), store=store, key=KEY)

    first, late = await both(store, ask)
    assert late == first
    assert len(late.done) == 1
