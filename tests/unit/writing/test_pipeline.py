"""`remember` from draft to answer."""

import asyncio
from dataclasses import replace
from datetime import timedelta

import pytest
from tests.fakes.build import MODEL, START, a_commit, a_memory
from tests.new_files import NewStores
from tests.unit.harness import SPACE, Harness

from scrubjay.errors import KeyReused, NameTaken
from scrubjay.model.draft import Draft
from scrubjay.model.identity import new_id
from scrubjay.model.memory import Source
from scrubjay.ports import Commit, Committed
from scrubjay.storage.sqlite import SqliteStore
from scrubjay.text.passages import text_hash

KEYED = Draft(text="Sarah prefers tea", idempotency_key="k1")


async def test_the_answer_describes_the_write(harness: Harness) -> None:
    done = await harness.remember(Draft(text="Sarah prefers tea", tags=("#Tea",)))
    assert (done.action, done.name, done.version, done.tags) == ("created", "sarah-prefers", 1, ("tea",))
    assert done.ids == (done.id,)
    stages = ["validate", "refuse", "secrets", "injection", "entities", "duplicate", "embed", "similarity", "commit"]
    assert [decision.stage for decision in done.trace] == stages
    (version,) = await harness.store.versions(SPACE, done.id, limit=5)
    assert (version.action, version.parent, version.agent) == ("created", None, "tester")


async def test_a_group_tells_all_its_ids(harness: Harness) -> None:
    done = await harness.remember(Draft(text="tea", entities=("Sarah", "Acme")))
    assert done.id == done.ids[0]
    entities = [memory.entity for memory in (await harness.store.get(SPACE, done.ids)).values()]
    assert entities == ["Sarah", "Acme"]


async def test_a_dry_run_tells_all_and_does_nothing(harness: Harness) -> None:
    would = await harness.remember(Draft(text="Sarah prefers tea", dry_run=True, idempotency_key="k"))
    assert (would.action, would.id, would.ids, would.name) == ("created", "", (), "sarah-prefers")
    assert would.trace[-1].outcome == "skipped"
    assert await harness.store.last_seq() == 0
    assert not await harness.store.embedded(SPACE, MODEL, [text_hash("Sarah prefers tea")])
    assert (await harness.remember(Draft(text="another", idempotency_key="k"))).action == "created"


async def test_a_derived_name_that_is_taken_gets_a_suffix(harness: Harness) -> None:
    first = await harness.remember(Draft(text="one", title="Tea"))
    second = await harness.remember(Draft(text="two", title="Tea"))
    assert first.name == "tea"
    assert second.name == f"tea-{second.id[-6:]}"


async def test_a_given_name_that_is_taken_is_refused(harness: Harness) -> None:
    first = await harness.remember(Draft(text="one", name="tea"))
    with pytest.raises(NameTaken) as caught:
        await harness.remember(Draft(text="two", name="tea"))
    assert caught.value.fields["id"] == first.id
    assert len(await harness.store.same_content(SPACE, "two")) == 0


async def test_many_at_once_get_names_of_their_own(harness: Harness) -> None:
    done = await asyncio.gather(*(harness.remember(Draft(text=f"cup {n}", title="Tea")) for n in range(8)))
    assert len({change.name for change in done}) == 8
    memories = await harness.store.get(SPACE, [change.id for change in done])
    assert [memory.name for memory in memories.values()] == [change.name for change in done]


class NameTakingStore(SqliteStore):
    """A store in which another client takes every name just before the commit."""

    async def commit(self, commit: Commit) -> Committed:
        if commit.origin.agent == "tester":
            for write in commit.writes:
                await super().commit(a_commit(a_memory("mine", name=write.memory.name)))
        return await super().commit(commit)


async def test_a_name_that_is_always_taken_is_given_up_in_the_end(new_store: NewStores) -> None:
    harness = Harness(store=new_store(NameTakingStore))
    with pytest.raises(NameTaken):
        await harness.remember("tea")


async def test_a_key_gives_the_first_answer_again(harness: Harness) -> None:
    first = await harness.remember(replace(KEYED, tags=("tea",)))
    await harness.revise(first.id, content="changed since")
    again = await harness.remember(replace(KEYED, tags=("tea",)))
    assert replace(again, trace=first.trace) == first
    assert again.trace[0].stage == "once"
    assert await harness.store.last_seq() == 2


@pytest.mark.parametrize(
    "change",
    [
        {"text": "Sarah prefers coffee"},
        {"title": "t"},
        {"kind": "k"},
        {"name": "n"},
        {"entities": ("e",)},
        {"observations": ("o",)},
        {"tags": ("t",)},
        {"category": "c"},
        {"project": "p"},
        {"scope": "s"},
        {"session_hint": "s"},
        {"intent": "new"},
        {"pinned": True},
        {"expires_at": START + timedelta(days=900)},
        {"remind_at": START},
        {"source": Source(agent="other")},
        {"metadata": {"a": 1}},
        {"id": new_id()},
        {"relevance": 0.5},
        {"fixed": True},
    ],
    ids=lambda change: next(iter(change)),
)
async def test_a_key_for_another_request_is_refused(harness: Harness, change: dict[str, object]) -> None:
    await harness.remember(KEYED)
    with pytest.raises(KeyReused):
        await harness.remember(replace(KEYED, **change))


async def test_two_at_once_with_one_key_store_once(harness: Harness) -> None:
    done = await asyncio.gather(*(harness.remember(replace(KEYED, intent="new")) for _ in range(5)))
    assert len({change.id for change in done}) == 1
    assert len(await harness.store.same_content(SPACE, KEYED.text)) == 1


async def test_a_key_is_of_its_own_space_and_another_key_is_another_request(harness: Harness) -> None:
    first = await harness.remember(replace(KEYED, intent="new"))
    second = await harness.remember(replace(KEYED, intent="new", idempotency_key="k2"))
    assert first.id != second.id


@pytest.mark.parametrize("draft", [Draft(text="tea. " * 5000), Draft(text="", observations=("tea",) * 300)])
async def test_a_long_text_is_stored_whole(harness: Harness, draft: Draft) -> None:
    memory = await harness.store_draft(draft)
    assert memory.content == draft.text
    assert tuple(observation.text for observation in memory.observations) == draft.observations
    recalled = await harness.recall("tea")
    assert [hit.id for hit in recalled.hits] == [memory.id]
