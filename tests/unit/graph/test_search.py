"""`search_nodes` and `get_memory_status`."""

from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime, timedelta
from typing import Any

import pytest
from tests.fakes.build import a_commit, a_memory
from tests.new_files import NewStores
from tests.unit.harness import SPACE, Harness

from scrubjay.errors import InvalidInput
from scrubjay.graph import records, search, status
from scrubjay.model.draft import Draft
from scrubjay.model.memory import Json, Memory, Observation
from scrubjay.model.requests import RecallRequest
from scrubjay.model.results import Recalled
from scrubjay.recalling.text_cache import TextCaches
from scrubjay.storage.sqlite import SqliteStore


async def _create(harness: Harness, name: str, type_: str, *observations: str, **more: Json) -> str:
    record: dict[str, Json] = {"name": name, "entityType": type_, "observations": list[Json](observations), **more}
    answer: Any = await records.create_entities([record], space=SPACE, origin=harness.origin(), context=harness.context)
    return str(answer["results"][0]["id"])


async def _search(harness: Harness, query: str, *, limit: int = 10, text_caches: TextCaches | None = None) -> Any:
    request = RecallRequest(query=query, limit=max(limit, 1), max_tokens=100_000, detail="full")
    recalled = await harness.recall(request) if query.strip() else Recalled(hits=())
    return await search.search_nodes(
        query, limit=limit, recall=_returning(recalled), now=harness.clock.now(), space=SPACE, store=harness.store,
        text_caches=text_caches or TextCaches(),
    )  # fmt: skip


def _returning(recalled: Recalled) -> Callable[[], Awaitable[Recalled]]:
    async def recall() -> Recalled:
        return recalled

    return recall


async def _find_names(harness: Harness, query: str, *, limit: int = 10) -> list[str]:
    return [node["name"] for node in (await _search(harness, query, limit=limit))["results"]]


async def test_an_entity_is_returned_with_every_field(harness: Harness) -> None:
    made = await _create(harness, "Ada", "Person", "likes tea", relevance_score=0.5)
    answer = await _search(harness, "ada")
    assert (answer["success"], answer["query"], answer["count"]) == (True, "ada", 1)
    (node,) = answer["results"]
    memory = await harness.get(made)
    # Clients compare these with times without a zone.
    written = memory.created_at.replace(tzinfo=None)
    assert {name: datetime.fromisoformat(node[name]) for name in ("created", "accessed", "last_confirmed")} == (
        dict.fromkeys(("created", "accessed", "last_confirmed"), written)
    )
    assert {name: node[name] for name in node if name not in ("created", "accessed", "last_confirmed")} == {
        "id": made, "name": "Ada", "type": "Person", "observations": ["likes tea"], "compression": node["compression"],
        "version": 1, "branch": "main", "access_count": 0, "relevance_score": 0.5, "stored_score": 0.5,
        "always_include": False, "tier": "working", "mark": "unknown source",
    }  # fmt: skip


async def test_names_and_types_are_found_by_a_part_in_any_case_and_with_a_typo(harness: Harness) -> None:
    await _create(harness, "system-architecture", "doc")
    await _create(harness, "Oslo", "city_guide")
    await _create(harness, "unrelated", "thing", "says nothing")
    assert await _find_names(harness, "ARCHITECT") == ["system-architecture"]
    assert await _find_names(harness, "system architecture") == ["system-architecture"]
    assert await _find_names(harness, "city gui") == ["Oslo"]
    assert await _find_names(harness, "sistem-architecure") == ["system-architecture"]
    assert "unrelated" not in await _find_names(harness, "doc")


async def test_the_exact_name_comes_first_and_then_the_most_read(harness: Harness) -> None:
    ids = {name: await _create(harness, name, "person", "is here") for name in ("ann", "anna", "annabel", "joanna")}
    at = harness.clock.now()
    for name in ("joanna", "joanna", "annabel"):
        await harness.store.touch(SPACE, [ids[name]], at=at)
    assert await _find_names(harness, "Ann") == ["ann", "joanna", "annabel", "anna"]
    assert await _find_names(harness, "", limit=2) == ["joanna", "annabel"]
    assert len(await _find_names(harness, "", limit=100)) == 4


async def test_pinned_entities_come_with_every_answer(harness: Harness) -> None:
    await _create(harness, "profile", "user_profile", "prefers voice", always_include=True)
    for name in ("tea one", "tea two", "tea three"):
        await _create(harness, name, "drink")
    assert await _find_names(harness, "xylophone", limit=1) == ["profile"]
    assert (await _find_names(harness, "tea", limit=2))[0] == "profile"
    assert len(await _find_names(harness, "tea", limit=2)) == 3
    assert await _find_names(harness, "profile", limit=1) == ["profile"]


async def test_pinned_entities_do_not_displace_matches(harness: Harness) -> None:
    made = [await _create(harness, f"profile {n}", "user_profile", always_include=True) for n in range(25)]
    for name in ("tea one", "tea two"):
        await _create(harness, name, "drink")
    answer = await _search(harness, "tea", limit=2)
    names = [node["name"] for node in answer["results"]]
    assert (len(names), answer["always_included"], set(names[20:])) == (22, 20, {"tea one", "tea two"})
    assert answer["note"].startswith("5 more are always included")
    # A pinned entity without a place is found like any other.
    answer = await _search(harness, "profile 24", limit=1)
    assert [node["id"] for node in answer["results"]][20:] == [made[24]]


async def test_matches_by_meaning_come_after_matches_by_name(harness: Harness) -> None:
    await _create(harness, "Ada", "person", "likes green tea in the morning")
    await _create(harness, "tea", "drink", "comes in cups")
    assert (await _find_names(harness, "tea"))[0] == "tea"
    assert set(await _find_names(harness, "green tea in the morning")) >= {"Ada"}


async def test_trashed_entities_are_not_found(harness: Harness) -> None:
    await _create(harness, "Ada", "person", "likes tea")
    await harness.forget("Ada")
    assert await _find_names(harness, "Ada") == []
    assert await _find_names(harness, "") == []


async def test_of_very_many_with_one_type_only_some_are_read(new_store: NewStores) -> None:
    class CountingStore(SqliteStore):
        """A store that counts reads."""

        read = 0

        async def get(self, space: str, ids: Sequence[str]) -> dict[str, Memory]:
            self.read += len(ids)
            return await super().get(space, ids)

    store, text_caches = new_store(CountingStore), TextCaches()
    await store.commit(a_commit(*(a_memory(name=f"place {number}", kind="city") for number in range(800))))
    harness = Harness(store=store)
    assert len((await _search(harness, "", limit=800, text_caches=text_caches))["results"]) == 800
    store.read = 0
    answer = await search.search_nodes(
        "city",
        limit=5,
        recall=_returning(Recalled(hits=())),
        now=harness.clock.now(),
        space=SPACE,
        store=store,
        text_caches=text_caches,
    )
    assert (answer["count"], store.read) == (5, 500)


async def test_a_space_too_large_for_the_cache_is_read(harness: Harness) -> None:
    await _create(harness, "Ada", "person", "likes tea")
    (results,) = (await _search(harness, "ada", text_caches=TextCaches(max_bytes=1)))["results"]
    assert results["name"] == "Ada"


@pytest.mark.parametrize("limit", [0, -1, 10_001, True])
async def test_the_limit_is_checked(harness: Harness, limit: int) -> None:
    with pytest.raises(InvalidInput):
        await search.search_nodes(
            "x", limit=limit, recall=_returning(Recalled(hits=())), now=harness.clock.now(), space=SPACE,
            store=harness.store, text_caches=TextCaches(),
        )  # fmt: skip


async def test_the_status_counts_by_type_and_tier(harness: Harness) -> None:
    empty: Any = await status.memory_status(space=SPACE, store=harness.store)
    assert (empty["total_entities"], empty["by_type"], empty["compression"]["avg_ratio"]) == (0, {}, 0.0)
    await _create(harness, "Ada", "UserProfile", "likes tea " * 50)
    await _create(harness, "Bo", "UserProfile", "likes ham")
    await _create(harness, "Bo", "UserProfile", "likes jam")
    await harness.remember(Draft(text="a note", name="note"))
    await harness.revise("note", tier="semantic")
    results: Any = await status.memory_status(space=SPACE, store=harness.store)
    assert results["success"] is True
    assert results["total_entities"] == 3
    assert results["by_type"] == {"UserProfile": 2, "note": 1}
    assert results["by_tier"] == {"working": 2, "episodic": 0, "semantic": 1, "procedural": 0}
    assert results["versioning"] == {"total_versions": 5, "total_branches": 0}
    sizes = results["compression"]
    assert sizes.keys() == {"avg_ratio", "total_original", "total_compressed", "savings_mb"}
    assert sizes["total_compressed"] > 0
    assert sizes["total_original"] > 500
    assert results["database_size_mb"] >= 0


async def test_an_entity_includes_observations_with_a_future_end(harness: Harness) -> None:
    end = harness.clock.now() + timedelta(days=1)
    lease = Observation(text="rents a flat", recorded_at=harness.clock.now(), valid_until=end)
    await harness.store.commit(a_commit(a_memory("", name="Ada", kind="person", observations=(lease,))))
    assert (await _search(harness, "ada"))["results"][0]["observations"] == ["rents a flat"]
    harness.clock.set(end)
    assert (await _search(harness, "ada"))["results"][0]["observations"] == []
