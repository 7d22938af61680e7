"""The same text is stored once; a new text is a new memory."""

from dataclasses import replace
from datetime import timedelta

import pytest
from tests.fakes.build import START, a_commit, a_rewrite, moment, revised
from tests.unit.harness import PLAIN, Harness

from scrubjay.model.draft import Draft
from scrubjay.model.identity import new_id
from scrubjay.model.memory import Source
from scrubjay.storage.sqlite import SqliteStore

SAID = Draft(
    text="Sarah prefers tea", title="Tea", kind="preference", category="drinks", project="jay", scope="team",
    entities=("Sarah",), observations=("green tea", "no milk"), tags=("tea", "morning"), metadata={"cups": [1, 2]},
    pinned=True, expires_at=START + timedelta(days=900), remind_at=START + timedelta(days=9),
)  # fmt: skip


@pytest.mark.parametrize(
    "again",
    [
        SAID,
        Draft(text=SAID.text, entities=("Sarah",)),
        Draft(text=SAID.text, entities=("Sarah",), tags=("tea",), observations=("no milk",), metadata={"cups": [1, 2]}),
        Draft(text=SAID.text, entities=("Sarah",), title="Tea", intent="continue", session_hint="s"),
        Draft(text=SAID.text, entities=("Sarah",), name="tea", dry_run=True),
    ],
)
async def test_a_draft_without_new_content_changes_nothing(harness: Harness, again: Draft) -> None:
    first = await harness.remember(SAID)
    seq = await harness.store.last_seq()
    second = await harness.remember(again)
    assert (second.action, second.id, second.ids, second.name) == ("unchanged", first.id, (first.id,), first.name)
    assert second.similarity == 1.0
    assert first.id in second.trace[-1].why
    assert await harness.store.last_seq() == seq


@pytest.mark.parametrize(
    "news",
    [
        {"text": "Sarah prefers tea."},
        {"title": "Coffee"},
        {"kind": "fact"},
        {"category": "food"},
        {"project": "other"},
        {"scope": "me"},
        {"tags": ("coffee",)},
        {"observations": ("with sugar",)},
        {"metadata": {"cups": [3]}},
        {"expires_at": START + timedelta(days=901)},
        {"remind_at": START + timedelta(days=10)},
        {"name": "sarah-and-tea"},
        {"entities": ("Acme",)},
        {"entities": ()},
        {"intent": "new"},
        {"id": new_id()},
        {"relevance": 0.5},
    ],
)
async def test_anything_new_is_stored(harness: Harness, news: dict[str, object]) -> None:
    first = await harness.remember(SAID)
    second = await harness.remember(replace(Draft(text=SAID.text, entities=("Sarah",)), **news))
    assert second.action == "created"
    assert second.id != first.id


async def test_pinning_is_news(harness: Harness) -> None:
    await harness.remember("tea")
    assert (await harness.remember(Draft(text="tea", pinned=True))).action == "created"


async def test_a_group_is_known_when_each_of_its_entities_is(harness: Harness) -> None:
    both = Draft(text="Sarah works at Acme", entities=("Sarah", "Acme"))
    first = await harness.remember(both)
    turned = await harness.remember(replace(both, entities=("Acme", "Sarah")))
    assert (turned.action, turned.ids) == ("unchanged", first.ids[::-1])
    assert (await harness.remember(replace(both, entities=("Sarah", "Bob")))).action == "created"


async def test_a_memory_in_the_trash_is_no_duplicate(harness: Harness) -> None:
    first = await harness.remember("tea")
    await harness.forget(first.id)
    assert (await harness.remember("tea")).action == "created"


@pytest.mark.parametrize("ended", ["expires_at", "valid_until"])
@pytest.mark.parametrize("again", ["Sarah prefers tea", "Sarah prefers tea!"])
async def test_a_text_is_stored_again_after_its_memory_has_ended(ended: str, again: str, store: SqliteStore) -> None:
    harness = Harness(store=store, rules=replace(PLAIN, gate="merge"))
    first = await harness.store_draft("Sarah prefers tea")
    await harness.store.commit(a_commit(a_rewrite(replace(revised(first), **{ended: moment(60)}))))
    harness.clock.set(moment(3600))
    assert (await harness.remember(again)).action == "created"
    assert [hit.passage for hit in (await harness.recall("tea")).hits] == [again]
    # A text dated while the memory held is the same statement, however late it is written.
    late = Draft(text="Sarah prefers tea", source=Source(at=moment(30)))
    assert (await harness.remember(late)).action == "unchanged"


async def test_observations_without_a_text_are_never_the_same(harness: Harness) -> None:
    fact = Draft(text="", observations=("likes tea",))
    assert [(await harness.remember(fact)).action for _ in range(2)] == ["created", "created"]
