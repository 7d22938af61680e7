"""The memories that a reference means: by id, then name, then title, then the slug without stop words."""

import pytest
from tests.conformance.suites import hostile
from tests.fakes.build import a_commit, a_memory, a_rewrite, revised

from scrubjay.model.memory import State
from scrubjay.ports import Handle, RecordStore


class FindingSuite:
    """`find`, `nearest` and `same_content`. Needs the fixture `store`."""

    async def test_a_handle_identifies_its_memory(self, store: RecordStore) -> None:
        memory = a_memory(name="q4-goals", title="Goals of Q4")
        await store.commit(a_commit(memory))
        handle = Handle(id=memory.id, name="q4-goals", title="Goals of Q4", state=State.LIVE)
        assert await store.find("default", memory.id) == (handle,)

    @pytest.mark.parametrize(
        "ref",
        [
            "john-meeting",
            "Meeting with John about Q4 goals",
            "MEETING WITH JOHN ABOUT Q4 GOALS",
            "meeting-with-john-q4-goals",
            "meeting john q4 goals",
            "the john meeting",
        ],
    )
    async def test_a_memory_is_found_by_each_of_its_names(self, store: RecordStore, ref: str) -> None:
        memory = a_memory(name="john-meeting", title="Meeting with John about Q4 goals")
        await store.commit(a_commit(memory, a_memory(name="other", title="Another meeting with John")))
        assert await _ids(store, ref) == {memory.id}

    @pytest.mark.parametrize("ref", ["", " ", "!!!", "the", "of the and", "nobody", "john", "meeting", "%", "_", "*"])
    async def test_an_unknown_reference_finds_nothing(self, store: RecordStore, ref: str) -> None:
        await store.commit(a_commit(a_memory(title=""), a_memory(name="john-meeting", title="John, a meeting")))
        assert await store.find("default", ref) == ()

    async def test_the_id_comes_before_a_name(self, store: RecordStore) -> None:
        memory = a_memory()
        await store.commit(a_commit(memory, a_memory(name=memory.id)))
        assert await _ids(store, memory.id) == {memory.id}

    async def test_the_name_comes_before_a_title(self, store: RecordStore) -> None:
        named, titled = a_memory(name="plan"), a_memory(title="plan")
        await store.commit(a_commit(named, titled))
        assert await _ids(store, "plan") == {named.id}
        assert await _ids(store, "PLAN") == {titled.id}

    async def test_a_title_comes_before_a_slug(self, store: RecordStore) -> None:
        exact, slugged = a_memory(title="The plan"), a_memory(title="plan!")
        await store.commit(a_commit(exact, slugged))
        assert await _ids(store, "the plan") == {exact.id}
        assert await _ids(store, "a plan") == {exact.id, slugged.id}

    async def test_a_slug_is_of_the_title_or_the_name(self, store: RecordStore) -> None:
        named, titled = a_memory(name="the-road-to-rome"), a_memory(title="Road to Rome?")
        await store.commit(a_commit(named, titled))
        assert await _ids(store, "road rome") == {named.id, titled.id}

    async def test_all_memories_with_a_title_are_returned(self, store: RecordStore) -> None:
        memories = [a_memory(title="Standup") for _ in range(3)]
        await store.commit(a_commit(*memories))
        assert await _ids(store, "standup") == {memory.id for memory in memories}

    async def test_a_live_one_is_preferred_at_each_level(self, store: RecordStore) -> None:
        gone = a_memory(name="plan", title="The big plan", state=State.TRASHED)
        live = a_memory(name="plan", title="The big plan")
        await store.commit(a_commit(gone, live))
        for ref in ("plan", "the big plan", "big plan"):
            assert await _ids(store, ref) == {live.id}
        assert await _ids(store, gone.id) == {gone.id}

    async def test_an_inactive_memory_is_found_if_no_live_one_matches(self, store: RecordStore) -> None:
        trashed = a_memory(name="plan", title="The big plan", state=State.TRASHED)
        archived = a_memory(name="plan", title="The big plan", state=State.ARCHIVED)
        await store.commit(a_commit(trashed, archived))
        for ref in ("plan", "the big plan", "big plan"):
            assert await _ids(store, ref) == {trashed.id, archived.id}

    async def test_a_name_in_the_bin_comes_before_a_live_title(self, store: RecordStore) -> None:
        trashed, live = a_memory(name="plan", state=State.TRASHED), a_memory(title="Plan")
        await store.commit(a_commit(trashed, live))
        assert await _ids(store, "plan") == {trashed.id}
        assert await _ids(store, "plan", state=State.LIVE) == {live.id}

    async def test_the_state_restricts_every_level(self, store: RecordStore) -> None:
        trashed = a_memory(name="plan", title="The big plan", state=State.TRASHED)
        live = a_memory(name="plan", title="The big plan")
        await store.commit(a_commit(trashed, live))
        for ref in ("plan", "the big plan", "big plan", trashed.id):
            assert await _ids(store, ref, state=State.TRASHED) == {trashed.id}
            assert await _ids(store, ref, state=State.ARCHIVED) == set()
        assert await _ids(store, trashed.id, state=State.LIVE) == set()

    async def test_a_revised_title_is_found_and_the_old_is_not(self, store: RecordStore) -> None:
        memory = a_memory(name="n-1", title="Old words")
        await store.commit(a_commit(memory))
        await store.commit(a_commit(a_rewrite(revised(memory, title="New phrase", name="n-2"))))
        assert await _ids(store, "old words") == set()
        assert await _ids(store, "n-1") == set()
        assert await _ids(store, "new phrase") == {memory.id}
        assert await _ids(store, "n-2") == {memory.id}

    async def test_titles_of_any_script_are_found(self, store: RecordStore) -> None:
        memories = [a_memory(title=string) for string in hostile.STRINGS]
        await store.commit(a_commit(*memories))
        for memory in memories:
            assert await _ids(store, memory.title) == {memory.id}

    async def test_nearest_suggests_names_that_look_alike(self, store: RecordStore) -> None:
        names = ("project-apollo", "project-gemini", "grocery-list", "grocery-lists-of-march", "holiday")
        await store.commit(a_commit(*(a_memory(name=name) for name in names)))
        assert (await store.nearest("default", "projct-apolo", limit=3))[0] == "project-apollo"
        assert (await store.nearest("default", "grocery list", limit=2))[0] == "grocery-list"
        assert len(await store.nearest("default", "project-apolla", limit=1)) == 1
        assert set(await store.nearest("default", "project", limit=9)) <= set(names)

    async def test_nearest_takes_any_string(self, store: RecordStore) -> None:
        assert await store.nearest("default", "anything", limit=3) == ()
        await store.commit(a_commit(a_memory(name="plan")))
        for string in ("", *hostile.STRINGS):
            assert set(await store.nearest("default", string, limit=3)) <= {"plan"}

    async def test_labels_are_those_that_begin_alike_in_order(self, store: RecordStore) -> None:
        await store.commit(
            a_commit(
                a_memory(name="tea-house", entity="Sarah", tags=("tea", "team")),
                a_memory(name="tea", entity="Sara Lee", tags=("tea", "coffee"), project="Acme Corp"),
                a_memory(name="Teapot", entity="Acme"),
                a_memory(name="tea-cup", entity="Sam", tags=("teal",), state=State.TRASHED),
            )
        )
        for field, prefix, expected in (
            ("name", "tea", ("tea", "tea-house")),
            ("name", "Tea", ("Teapot", "tea", "tea-house")),
            ("name", "", ("Teapot", "tea", "tea-house")),
            ("tag", "te", ("tea", "team")),
            ("tag", "", ("coffee", "tea", "team")),
            ("entity", "SAR", ("sara lee", "sarah")),
            ("project", "acme ", ("acme corp",)),
            ("entity", "x", ()),
            ("nothing", "", ()),
        ):
            assert await store.labels("default", field, prefix=prefix, limit=9) == expected, (field, prefix)
        assert await store.labels("default", "tag", prefix="", limit=2) == ("coffee", "tea")
        assert await store.labels("default", "name", prefix="", limit=1) == ("Teapot",)
        assert await store.labels("elsewhere", "name", prefix="", limit=9) == ()

    async def test_labels_take_any_prefix(self, store: RecordStore) -> None:
        await store.commit(a_commit(*(a_memory(entity=string, name=f"n-{string}") for string in hostile.STRINGS)))
        for string in hostile.STRINGS:
            assert f"n-{string}" in await store.labels("default", "name", prefix=f"n-{string}", limit=99)
            assert await store.labels("default", "entity", prefix=string, limit=99) != ()

    async def test_same_content_is_exact_and_of_live_memories(self, store: RecordStore) -> None:
        text = "Sarah prefers voice calls"
        first, second = a_memory(text, title="A"), a_memory(text, title="B")
        others = [a_memory(text + " "), a_memory(text.lower()), a_memory(text, state=State.TRASHED)]
        revised_away = a_memory(text)
        await store.commit(a_commit(first, second, *others, revised_away))
        await store.commit(a_commit(a_rewrite(revised(revised_away, content="something else"))))
        assert set(await store.same_content("default", text)) == {first.id, second.id}
        assert await store.same_content("default", "never written") == ()


async def _ids(store: RecordStore, ref: str, *, state: State | None = None) -> set[str]:
    handles = await store.find("default", ref, state=state)
    ids = {handle.id for handle in handles}
    assert len(ids) == len(handles), "a memory is returned once"
    return ids
