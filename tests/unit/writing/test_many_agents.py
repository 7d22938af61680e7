"""Three agents write eight entries about one fix: they become one memory, and other subjects stay separate."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.fakes.build import a_memory
from tests.unit.writing.gate_world import GateWorld

from scrubjay.app import make_embedder
from scrubjay.model.memory import Source
from scrubjay.ports import Embedder, RecordStore
from scrubjay.settings import Settings
from scrubjay.storage.sqlite import SqliteStore
from scrubjay.text.claims.extract import lost_claims

SESSION = "cli-auth"
# The agent, title, tags and text of each entry.
ENTRIES = (
    (
        "coder", "CLI auth: token never refreshed", ("auth", "cli"),
        "The CLI login failed with 401 because the stored access token was never refreshed after 3600 seconds.",
    ),
    (
        "coder", "", ("auth-fix",),
        "Root cause: `refresh_token()` in src/cli/session.py was called only when the token file was missing.",
    ),
    (
        "coder", "CLI auth fix", ("cli", "oauth"),
        "Fixed the CLI login. The session now refreshes the token 60 seconds before it expires.",
    ),
    (
        "reviewer", "", (),
        (
            "The CLI login failed with 401 because the stored access token was never refreshed after 3600 seconds. "
            "Review: a second 401 is not retried, the user is asked to log in again."
        ),
    ),
    (
        "reviewer", "Tests for expired tokens", ("testing",),
        "Added tests/test_session.py with 4 cases for expired, missing and revoked tokens.",
    ),
    (
        "writer", "", ("release",),
        "The fix for expired CLI tokens went out in v2.3.1 on 14 March 2031.",
    ),
    (
        "writer", "", ("docs", "auth"),
        "On macOS the refresh token is in the keychain; on Linux it is in ~/.config/tool/token.json with mode 600.",
    ),
    (
        "writer", "CLI login", (),
        'Users who log in with the CLI no longer see "unauthorized" after an hour of work.',
    ),
)  # fmt: skip
PREFERENCE = "The user drinks coffee without sugar and likes short answers in British English."


@pytest.fixture
async def embedder(tmp_path: Path) -> AsyncIterator[Embedder]:
    made = make_embedder(Settings.load(environment={}, home=str(tmp_path / "home")))
    yield made
    await made.close()


async def written(world: GateWorld, *, titled: bool) -> None:
    for agent, title, tags, text in ENTRIES:
        source = Source(agent=agent, session=SESSION)
        entry = a_memory(text, title=title if titled else "", tags=tags, source=source)
        await world.write(entry, session=SESSION)


@pytest.mark.parametrize("titled", [True, False])
async def test_a_flood_ends_as_one_memory_with_every_fact(
    store: RecordStore, embedder: Embedder, *, titled: bool
) -> None:
    world = GateWorld(store=store, embedder=embedder)
    await written(world, titled=titled)
    (memory,) = await world.live()
    assert lost_claims([text for *_, text in ENTRIES], memory.content) == ()
    assert memory.content.startswith(ENTRIES[0][-1])
    assert memory.content.count("never refreshed after 3600 seconds") == 1
    assert len(memory.merged) == len(ENTRIES) - 1
    assert [part.source.agent for part in memory.merged] == [agent for agent, *_ in ENTRIES[1:]]
    await world.write(a_memory(PREFERENCE, source=Source(session=SESSION)), session=SESSION)
    preference, same = await world.live()
    assert (preference.content, same) == (PREFERENCE, memory)


async def test_without_a_session_notes_of_one_task_stay_apart(embedder: Embedder, store: SqliteStore) -> None:
    world = GateWorld(store=store, embedder=embedder)
    for *_, text in ENTRIES:
        await world.write(a_memory(text))
    # All but the reviewer's entry, which repeats the first and adds to it.
    assert len(await world.live()) >= len(ENTRIES) - 1
