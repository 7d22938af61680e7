"""`MemoryClient`, and `SyncMemoryClient` for programs without an event loop."""

import asyncio
import inspect
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from scrubjay import Filter, MemoryClient, Settings, Source, SyncMemoryClient
from scrubjay.errors import DaemonUnavailable, InvalidInput, NotFound, ScrubjayError, StoreError
from scrubjay.model.memory import Trust


def public(kind: type) -> dict[str, Callable[..., object]]:
    results = {name: value for base in reversed(kind.__mro__) for name, value in vars(base).items()}
    return {name: value for name, value in results.items() if not name.startswith("_") and callable(value)}


def test_the_sync_client_has_every_verb_with_the_same_signature() -> None:
    verbs = {name: verb for name, verb in public(MemoryClient).items() if name not in ("call", "aclose")}
    twins = {name: verb for name, verb in public(SyncMemoryClient).items() if name not in ("run", "call", "close")}
    assert set(twins) == set(verbs)
    for name, verb in verbs.items():
        own, original = inspect.signature(twins[name]), inspect.signature(verb)
        assert own.parameters == original.parameters, name
        assert twins[name].__doc__ == verb.__doc__, name
    assert inspect.signature(SyncMemoryClient) == inspect.signature(MemoryClient)


def test_the_sync_client_returns_results_not_coroutines() -> None:
    for name, verb in public(MemoryClient).items():
        if (name not in ("export", "aclose") and not name.endswith("_all")) or name == "get_all":
            assert inspect.iscoroutinefunction(verb), name
            assert not inspect.iscoroutinefunction(getattr(SyncMemoryClient, name)), name


def test_a_client_opens_at_its_first_call_and_closes_with_its_event_loop(home: Path, settings: Settings) -> None:
    memory = MemoryClient(path=home, settings=settings)

    async def use() -> None:
        both = await asyncio.gather(memory.remember("Tea at four"), memory.recall("tea"))
        assert both[0].id == (await memory.get("tea")).id

    for _ in range(2):
        # Each run has its own event loop; what is left open is a warning, and warnings are errors.
        asyncio.run(use())

    async def close() -> None:
        await memory.recall("tea")
        await memory.aclose()
        with pytest.raises(StoreError, match="the client is closed"):
            await memory.recall("tea")
        async with memory:
            assert (await memory.recall("tea")).hits
        dropped = MemoryClient(path=home, settings=settings)
        await dropped.recall("tea")
        task = next(task for task in asyncio.all_tasks() if task.get_name() == "scrubjay-client")
        del dropped
        await task

    asyncio.run(close())


def test_a_program_need_not_close_a_synchronous_client(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # The thread of a model is the last that closing needs.
    monkeypatch.setenv("SCRUBJAY_EMBEDDER", "static")
    program = (
        "import sys; from scrubjay import SyncMemoryClient\n"
        "memory = SyncMemoryClient(path=sys.argv[1]); print(memory.add('Tea at four').action)"
    )
    command = [sys.executable, "-W", "error", "-c", program, str(home)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("created\n", "")


def test_a_missing_memory_is_an_error_by_itself_and_named_in_a_list(settings: Settings) -> None:
    with SyncMemoryClient(settings=settings) as memory:
        memory.add("Tea at four", name="tea")
        for verb in (
            memory.read,
            memory.get,
            memory.forget,
            memory.restore,
            memory.purge,
            memory.confirm,
            memory.history,
        ):
            with pytest.raises(NotFound, match="no memory is called 'teas'"):
                verb("teas")
        with pytest.raises(NotFound, match="no memory is called 'teas'"):
            memory.revise("teas", text="Tea at five")
        with pytest.raises(NotFound, match="'tea': it did not exist at 2020"):
            memory.read("tea", as_of="2020-01-01")
        assert [missing.ref for missing in memory.read(["teas", "tea"]).missing] == ["teas"]
        result = memory.forget(["teas", "tea"])
        assert ([item.name for item in result.done], [item.ref for item in result.missing]) == (["tea"], ["teas"])


async def test_both_clients_take_and_refuse_the_same_limits_and_ids(settings: Settings) -> None:
    with SyncMemoryClient(settings=settings) as memory:
        memory.remember("The green tea is on the left shelf", name="tea", pinned=True)
        memory.remember("Anna drinks her coffee on Mondays", name="coffee")
    async with MemoryClient(settings=settings) as other:
        assert [len(await other.get_all(limit=limit)) for limit in (None, 1, 0, 5_000)] == [2, 1, 0, 2]
        assert {memory.name for memory in await other.get_all()} == {"tea", "coffee"}
        for limit in (-1, "many", True):
            with pytest.raises(InvalidInput, match="limit"):
                await other.get_all(limit=limit)  # type: ignore[arg-type]
        with pytest.raises(InvalidInput, match="id"):
            await other.get(["nope"])  # type: ignore[arg-type]
    with SyncMemoryClient(settings=settings) as memory:
        for limit in (-1, "many", True):
            with pytest.raises(InvalidInput, match="limit"):
                memory.get_all(limit=limit)  # type: ignore[arg-type]
        with pytest.raises(InvalidInput, match="id"):
            memory.get(["nope"])  # type: ignore[arg-type]


def test_all_pages_come_and_a_limit_is_a_number_of_hits(settings: Settings) -> None:
    with SyncMemoryClient(settings=settings) as memory:
        memory.remember_many(
            [{"text": f"Room {n} has tea. " + "It is green. " * 60, "name": f"r{n}"} for n in range(40)]
        )
        assert len(memory.search("tea", limit=30).hits) == 30
        assert len(memory.recall("tea", limit=30, max_tokens=500).hits) < 30
        for hits in (memory.recall_all(page=7), memory.recall_all("tea", page=7, min_score=0.0)):
            assert sorted(hit.name for hit in hits) == sorted(f"r{n}" for n in range(40))
        assert len({hit.id for hit in memory.search_text_all("tea", page=7)}) == 40
        assert [len(memory.get_all(limit=limit)) for limit in (None, 3, 0, 5_000)] == [40, 3, 0, 40]
        for number in range(5):
            memory.update("r1", f"Room 1 has {number} cups")
        assert [version.number for version in memory.history_all("r1", page=2)] == [6, 5, 4, 3, 2, 1]


async def test_the_names_of_the_tools_tell_one_story_through_both_clients(settings: Settings, tmp_path: Path) -> None:
    other = replace(settings, home=str(tmp_path / "other"), database_url="")
    async with MemoryClient(settings=settings) as client:
        with SyncMemoryClient(settings=other) as sync:
            shown = [[await each for each in _story(client)], [*_story(sync)]]
    assert shown[0] == shown[1]


def _story(memory: Any) -> Iterator[Any]:
    """Yield what each name returns, as numbers and texts: results, or what waits for them."""
    yield _then(memory.add("Tea is served at four", name="tea"), lambda done: done.action)
    yield _then(memory.update("tea", "Tea is served at five"), lambda done: done.version)
    yield _then(memory.memory_commit("tea", "as agreed"), lambda done: done.action)
    yield _then(memory.memory_diff("tea", 1, 2), lambda done: [each.field for each in done.diff])
    yield _then(memory.memory_revert("tea", 1), lambda done: done.version)
    yield _then(memory.memory_confirm("tea"), lambda done: len(done.done))
    yield _then(memory.memory_branch("tea", "late", "for the summer"), lambda done: len(done.branches))
    yield _then(memory.memory_branches("tea"), lambda done: [branch.name for branch in done.branches])
    yield _then(memory.memory_merge_branch("tea", "late", prefer="theirs"), lambda done: (done.action, done.into))
    yield _then(memory.memory_drop_branch("tea", "late"), lambda done: [branch.name for branch in done.branches])
    yield _then(memory.get("tea"), lambda done: done.content)
    yield _then(memory.get_all(limit=1), len)
    yield _then(memory.detect_conflicts("tea"), len)
    yield _then(memory.auto_extract_facts("Ann: I prefer green tea.", auto_store=False), lambda done: len(done.facts))
    yield _then(memory.memory_undo(), lambda done: (len(done.done), done.skipped))


def _then(result: Any, shown: Callable[[Any], object]) -> Any:
    """Return what a result tells, at once or when it is there."""
    if not inspect.isawaitable(result):
        return shown(result)

    async def wait() -> object:
        return shown(await result)

    return wait()


async def test_without_the_engine_the_error_says_what_to_install(
    home: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "scrubjay.app", None)
    with pytest.raises(InvalidInput, match="cannot open a store") as alone:
        await MemoryClient(path=home, settings=settings).__aenter__()
    with pytest.raises(DaemonUnavailable, match="no daemon runs") as away:
        await MemoryClient(settings=settings).__aenter__()
    assert "package `scrubjay`" in alone.value.hint
    assert "package `scrubjay`" in away.value.hint


async def test_verbs_work_as_the_readme_says(settings: Settings) -> None:
    async with MemoryClient(settings=settings, space="work", agent="bot") as memory:
        done = await memory.remember(
            "Sarah of Acme prefers voice calls", entities=["Sarah", "Acme"], source={"session": "s1", "trust": "user"}
        )
        assert (done.action, len(done.ids)) == ("created", 2)
        results = await memory.recall("how does Sarah like voice calls?", limit=5)
        assert results.hits[0].passage == "Sarah of Acme prefers voice calls"
        assert sorted(results.hits[0].entities) == ["Acme", "Sarah"]
        assert (results.hits[0].trust, results.hits[0].source.agent) == ("user", "bot")
        (first, second) = (await memory.read(done.ids)).memories
        assert (first.entity, second.entity) == ("Sarah", "Acme")
        assert (await memory.revise(first.id, text="Sarah prefers mail", message="she said so")).version == 2
        assert (await memory.history(first.id)).versions[0].message == "she said so"
        assert (await memory.history(first.id, diff=[1, 2])).diff[0].field == "content"
        assert (await memory.relate(first.id, second.id)).action == "created"
        assert (await memory.unrelate(second.id, first.id)).action == "removed"
        assert (await memory.revert(first.id, to=1)).version == 3
        assert (await memory.undo()).done[0].version == 4
        assert (await memory.forget(filter=Filter(entity="Acme"))).done[0].id == second.id
        assert (await memory.restore(second.id)).done[0].action == "restored"
        await memory.forget(second.id, reason="on request")
        assert (await memory.purge([second.id])).done[0].action == "purged"
        status = await memory.status()
        assert (status.space, status.memories) == ("work", {"live": 1})
        assert {check.name for check in (await memory.doctor()).checks} >= {"store", "index"}


async def test_times_are_accepted_as_text_or_datetime(settings: Settings) -> None:
    async with MemoryClient(settings=settings) as memory:
        at = datetime(2020, 1, 1, tzinfo=UTC)
        await memory.remember("old tea", source=Source(at=at, trust=Trust.AGENT))
        await memory.remember("new tea", expires_at="2099-12-31", remind_at=datetime(2098, 1, 1, tzinfo=UTC))
        assert [hit.passage for hit in (await memory.recall("tea", until="2021-01-01")).hits] == ["old tea"]
        later = await memory.recall("tea", since=datetime(2021, 1, 1, tzinfo=UTC))
        assert [hit.passage for hit in later.hits] == ["new tea"]
        for wrong in ("yesterday", datetime(2021, 1, 1), 5):  # noqa: DTZ001 - the test needs a naive time
            with pytest.raises(InvalidInput, match="since"):
                await memory.recall("tea", since=wrong)  # pyright: ignore[reportArgumentType]


async def test_recall_accepts_contained_text_neighbours_and_a_date(settings: Settings) -> None:
    async with MemoryClient(settings=settings) as memory:
        for text in ("Shall we go?", "On Monday!", "At ten?", "At nine."):
            await memory.remember(text, source={"session": "talk"})
        await memory.remember("elsewhere: on mondays", title="A 10% OFFER")
        assert {hit.passage for hit in (await memory.recall("", contains="MONDAY")).hits} == {
            "On Monday!",
            "elsewhere: on mondays",
        }
        assert (await memory.recall("an offer", contains="10% offer")).hits[0].passage == "elsewhere: on mondays"
        assert (await memory.recall("monday", contains="tuesday")).hits == ()
        (hit,) = (await memory.recall("", contains="at ten", around=2, today=datetime(2026, 5, 31, tzinfo=UTC))).hits
        assert [(item.place, item.passage) for item in hit.around] == [
            (-2, "Shall we go?"),
            (-1, "On Monday!"),
            (1, "At nine."),
        ]
        (explained,) = (await memory.recall("ten", contains="at ten", explain=True, today="2026-05-31")).hits
        assert (explained.why[0][:6], explained.around) == ("words ", ())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"around": -1}, "around must be at least 0, not -1"),
        ({"around": 11}, "around must be at most 10, not 11"),
        ({"around": "2"}, "around must be a whole number"),
        ({"contains": "x" * 200_000}, "contains has 200,000 bytes"),
        ({"contains": 5}, "contains must be a text"),
        ({"today": "someday"}, "today: 'someday' is not a date or time"),
        ({"today": datetime(2021, 1, 1)}, "today must be a time with a zone"),  # noqa: DTZ001 - the test needs a naive time
        ({"explain": "yes"}, "explain must be true or false"),
    ],
    ids=lambda value: str(value)[:40],
)
async def test_an_invalid_argument_of_recall_is_named(
    settings: Settings, options: dict[str, str], message: str
) -> None:
    async with MemoryClient(settings=settings) as memory:
        with pytest.raises(ScrubjayError, match=message) as caught:
            await memory.recall("tea", **options)  # pyright: ignore[reportArgumentType]
        assert caught.value.fields["field"] == next(iter(options))


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"tags": "tea"}, "tags"),
        ({"entities": "Sarah"}, "entities"),
        ({"observations": 5}, "observations"),
        ({"metadata": []}, "metadata"),
        ({"source": "mail"}, "source"),
        ({"source": {"trust": "blind"}}, r"source\.trust"),
        ({"expires_at": "soon"}, "expires_at"),
        ({"pinned": "yes"}, "pinned"),
    ],
)
async def test_an_invalid_argument_is_named(settings: Settings, options: dict[str, str], field: str) -> None:
    async with MemoryClient(settings=settings) as memory:
        with pytest.raises(InvalidInput, match=field):
            await memory.remember("tea", **options)  # pyright: ignore[reportArgumentType]
        assert (await memory.status()).memories == {}


async def test_an_unknown_state_is_refused(settings: Settings) -> None:
    async with MemoryClient(settings=settings) as memory:
        with pytest.raises(InvalidInput, match="live, merged, archived, trashed"):
            await memory.recall("tea", state="asleep")  # type: ignore[arg-type]
        with pytest.raises(InvalidInput, match="ids"):
            await memory.read(5)  # pyright: ignore[reportArgumentType]


async def test_the_folder_may_be_given_alone_or_with_settings(settings: Settings, tmp_path: Path) -> None:
    async with MemoryClient(path=tmp_path / "alone") as memory:
        assert (await memory.status()).data == str(tmp_path / "alone")
    async with MemoryClient(path=tmp_path / "both", settings=settings) as memory:
        assert (await memory.status()).data == str(tmp_path / "both")


async def test_a_run_names_several_calls(settings: Settings) -> None:
    async with MemoryClient(settings=settings, run="spring cleaning") as memory:
        for text in ("tea", "coffee"):
            await memory.remember(text)
        assert len((await memory.undo(run="spring cleaning")).done) == 2


async def test_export_and_import_of_lines(settings: Settings, tmp_path: Path) -> None:
    reported: list[tuple[int, int]] = []
    async with MemoryClient(settings=settings) as memory:
        await memory.remember("tea")
        lines = [line async for line in memory.export(progress=lambda done, total: reported.append((done, total)))]
        assert reported == [(1, 1)]
        made = await memory.backup(tmp_path / "copy.db")
        assert made == tmp_path / "copy.db"
    async with MemoryClient(settings=settings, space="other") as memory:
        assert (await memory.import_lines(lines)).imported == 1
        assert (await memory.import_lines(lines, embed=False)).known == 1


def test_the_sync_client_works_from_any_thread(settings: Settings) -> None:
    answers: list[str] = []
    with SyncMemoryClient(settings=settings) as memory:

        def tell(text: str) -> None:
            answers.append(memory.remember(text).action)

        threads = [threading.Thread(target=tell, args=(text,)) for text in ("tea", "coffee", "milk")]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert answers == ["created"] * 3
        assert len(memory.recall("", limit=10).hits) == 3
        assert len(list(memory.export())) == 4
        first = memory.export()
        assert next(first).startswith('{"scrubjay"')
        with pytest.raises(NotFound):
            memory.revise("nobody", pinned=True)


async def test_the_sync_client_works_within_a_running_loop(settings: Settings) -> None:
    with SyncMemoryClient(settings=settings) as memory:
        assert memory.remember("tea").action == "created"


def test_a_closed_sync_client_says_so_and_can_be_opened_again(settings: Settings) -> None:
    memory = SyncMemoryClient(settings=settings)
    for _ in range(2):
        with memory:
            memory.recall("tea")
        with pytest.raises(StoreError, match="the client is closed") as caught:
            memory.recall("tea")
        assert "with" in caught.value.hint
        with pytest.raises(StoreError, match="the client is closed"):
            next(memory.export())
    memory.close()


@pytest.mark.embedded
def test_a_sync_client_that_cannot_be_opened_leaves_no_thread(settings: Settings, home: Path) -> None:
    home.mkdir(exist_ok=True)
    (home / "memory.db").write_bytes(b"nonsense" * 1000)
    before = threading.active_count()
    with pytest.raises(StoreError), SyncMemoryClient(settings=settings):
        pass
    memory = SyncMemoryClient(settings=settings)
    for _ in range(2):
        with pytest.raises(StoreError):
            memory.recall("tea")
    memory.close()
    assert threading.active_count() == before
