"""Programs over a memory: what they compute and change, in whose name, and what comes back, on both stores."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, cast

import pytest

from scrubjay.client import MemoryClient
from scrubjay.errors import InvalidInput, NotFound, TooLarge
from scrubjay.model.caller import Access, Caller
from scrubjay.model.code import CodeResult
from scrubjay.model.memory import Json
from scrubjay.model.requests import RunCodeRequest
from scrubjay.service import LocalService
from scrubjay.surfaces.mcp.cursors import pack
from scrubjay.surfaces.mcp.tool import ToolContext
from scrubjay.surfaces.mcp.toolsets import TOOLSETS
from tests.curated import STORES, CuratedMemory, open_curated
from tests.fakes.build import a_commit, a_memory


class Programs:
    """Programs of one caller."""

    def __init__(self, memory: CuratedMemory, **who: object) -> None:
        self.caller = Caller(**{"agent": "ada", **who})  # type: ignore[arg-type]
        self.service = LocalService.over(memory.engine)
        self.memory = MemoryClient.over(memory.engine, self.caller)

    async def run(self, code: str, **arguments: object) -> CodeResult:
        return await self.service.call(RunCodeRequest.of(code=code, **arguments), who=self.caller)

    async def value(self, code: str, **arguments: object) -> Any:
        answer = await self.run(code, **arguments)
        assert answer.success, answer.error
        return answer.result


@pytest.fixture(params=STORES)
async def memory(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[CuratedMemory]:
    async with open_curated(tmp_path, request.param) as opened:
        yield opened


async def test_a_program_computes_over_many_memories_and_its_changes_are_one_run(memory: CuratedMemory) -> None:
    ada = Programs(memory)
    answer = await ada.run(
        "made = create_entities([{'name': f'station-{n}', 'entityType': 'station', 'observations': [f'row {n}']}"
        " for n in range(40)])\n"
        "update_entity_many([{'id': f'station-{n}', 'changes': {'relevance_score': 0.5}} for n in range(10)])\n"
        "relate('station-1', 'station-2')\n"
        "found = search_nodes('station', limit=10000)\n"
        "print(len(found))\n"
        "result = summarize_results(filter_by_confidence(found, threshold))['count']",
        context_vars={"threshold": 0.9},
    )
    assert (answer.success, answer.result, answer.stdout, answer.calls) == (True, 30, "40\n", 4), answer.error
    assert len(await ada.value("search_nodes('', limit=1000)", max_tokens=50_000)) == 40
    undone = await ada.memory.undo(run=answer.run)
    assert len(undone.done) == 40
    assert await ada.value("search_nodes('', limit=1000)") == []
    assert (await ada.run("1 + 1")).run == "", "a program that writes nothing has no run"


async def test_the_memory_of_a_program_is_its_peak(memory: CuratedMemory) -> None:
    ada = Programs(memory)
    if not Path("/proc/self/clear_refs").exists():
        pytest.skip("this system does not tell the peak of a process")
    large = await ada.run("x = 'a' * 60_000_000\nx = ''\nlen(x)")
    small = await ada.run("len('abc')")
    assert large.memory_used_mb > 50
    assert small.memory_used_mb < 10


async def test_calls_look_synchronous_and_errors_say_what_to_do(memory: CuratedMemory) -> None:
    ada = Programs(memory)
    # A call without `await` must not silently do nothing.
    assert await ada.value("remember('Sarah prefers voice calls')\nlen(recall('Sarah')['hits'])") == 1
    for code, error, line in (
        ("x = 1\nawait recall('Sarah')", "can't be awaited", 2),
        ("list(map(recall, ['a']))", "cannot suspend", 1),
        ("recal('Sarah')", "did you mean recall?", 1),
        ("recall('Sarah', lmit=3)", "no argument 'lmit'", 1),
        ("read_file('notes.txt')", "there is no file", 1),
        ("def f():\n  yield 1", "programs cannot use yield", 2),
        ("import statistics\nstatistics.mean([])", "mean requires", 2),
        ("x = (", "SyntaxError", 1),
    ):
        answer = await ada.run(code)
        assert not answer.success
        assert error in answer.error, answer.error
        assert answer.line == line, (code, answer)
    caught = "try:\n  read_file('none')\nexcept LookupError as error:\n  result = 'caught: ' + str(error)"
    assert str(await ada.value(caught)).startswith("caught: there is no file")


async def test_large_results_are_stored_and_read_on(memory: CuratedMemory) -> None:
    ada = Programs(memory)
    answer = await ada.run("[{'number': n, 'text': 'a few words'} for n in range(2000)]", max_tokens=500)
    items, parts = cast("list[Any]", answer.result), 1
    assert (answer.total, bool(answer.handle)) == (2000, True)
    while answer.next is not None:
        answer = await ada.run("", handle=answer.handle, offset=answer.next, max_tokens=20_000)
        items, parts = items + cast("list[Any]", answer.result), parts + 1
    assert [item["number"] for item in items] == list(range(2000))
    assert parts > 2
    assert await ada.value("load_result(handle)[1999]['number']", context_vars={"handle": answer.handle}) == 1999
    text = await ada.run("'word ' * 20000", max_tokens=300)
    assert (text.total, len(str(text.result)) < 3000) == (100_000, True)
    entries = await ada.run("{str(n): 'x' * 50 for n in range(500)}", max_tokens=300)
    assert (entries.total, list(cast("dict[str, Any]", entries.result))[:2]) == (500, ["0", "1"])
    with pytest.raises(NotFound):
        await Programs(memory, agent="bob").run("", handle=entries.handle)

    # One item that is too large by itself is read in parts by the program that the hint names.
    mixed = await ada.run("{'a': 1, 'big': list(range(5000))}", max_tokens=300)
    assert (mixed.result, mixed.next, mixed.hint) == ({"a": 1}, 1, "")
    cut = await ada.run("", handle=mixed.handle, offset=1, max_tokens=300)
    assert cut.next is None
    program = cut.hint.partition("returns ")[2].partition(" gets")[0]
    answer = await ada.run(program, max_tokens=300)
    assert (answer.total, cast("list[int]", answer.result)[:2], answer.hint) == (5000, [0, 1], "")
    row = await ada.run("[['x' * 10_000]]", max_tokens=300)
    assert f"load_result('{row.handle}')[0]" in row.hint


async def test_files_are_private_to_an_agent_in_a_space_and_have_a_quota(memory: CuratedMemory) -> None:
    ada = Programs(memory)
    await ada.value("write_file('a.json', json.dumps([1, 2]))")
    assert await ada.value("sum(json.loads(read_file('a.json')))") == 3
    assert await ada.value("list_files()") == {"a.json": 6}
    assert await ada.value("write_file(f'{workspace}/a.json', '[3, 4]')\nread_file('a.json')") == "[3, 4]"
    assert await ada.value("list_files()") == {"a.json": 6}
    for other in (Programs(memory, agent="bob"), Programs(memory, space="elsewhere")):
        assert await other.value("list_files()") == {}
        assert "there is no file" in (await other.run("read_file('a.json')")).error
    full = await ada.run("for n in range(20):\n  write_file(f'{n}.txt', 'x' * 900_000)")
    assert "has room for" in full.error
    assert await ada.value("delete_file('a.json')") is True
    assert await ada.value("delete_file('a.json')") is False
    stored = await ada.run("'what Sarah said ' * 5000")
    written = await ada.memory.remember("what Sarah said")
    await ada.memory.forget(written.id)
    await ada.memory.purge(written.id)
    assert await ada.value("list_files()") == {}, "a file may contain what was purged"
    with pytest.raises(NotFound):
        await ada.run("", handle=stored.handle)


async def test_a_reader_has_only_functions_that_read(memory: CuratedMemory) -> None:
    await Programs(memory).value("remember('Sarah prefers voice calls', name='sarah')")
    reader = Programs(memory, access=Access.READ, agent="reader")
    assert await reader.value("recall('voice')['hits'][0]['name']") == "sarah"
    for code in ("remember('x')", "create_entities([])", "revert('sarah', 1)", "remember_many([])"):
        answer = await reader.run(f"try:\n  {code}\nexcept PermissionError as error:\n  result = str(error)")
        assert "you may only read it" in str(answer.result), answer
    listed = "\n".join(await reader.value("functions()", max_tokens=50_000))
    assert "recall(" in listed
    assert "remember(" not in listed


async def test_requests_that_cannot_work_are_refused(memory: CuratedMemory) -> None:
    ada = Programs(memory)
    with pytest.raises(InvalidInput):
        await ada.run("")
    with pytest.raises(InvalidInput):
        await ada.run("1", context_vars={"not a name": 1})
    with pytest.raises(TooLarge):
        await ada.run("x = 1\n" * 100_000)
    with pytest.raises(NotFound):
        await ada.run("", handle="result-none")


async def test_a_search_inside_a_program_has_every_true_match(memory: CuratedMemory) -> None:
    count = 1_250
    ledgers = [
        a_memory(f"The quarterly ledger is in room {n}", name=f"plant-{n}", kind="plant", created_at=memory.clock.now())
        for n in range(count)
    ]
    teas = [a_memory(f"Drinks tea {n}", name=f"other-{n}", kind="note") for n in range(50)]
    await memory.store.commit(a_commit(*ledgers, *teas))
    ada = Programs(memory)
    answers = await ada.value(
        "def about(query, limit=10000):\n"
        "    found = search_nodes(query, limit)\n"
        "    return [len(found), len([n for n in found if n['type'] == 'plant'])]\n"
        "last = search_nodes('quarterly ledger', 10000)[-1]\n"
        "result = [about('quarterly ledger'), about('quarterly ledger', 1100), about('plant'), about(''), sorted(last)]"
    )
    assert answers[:4] == [[count, count], [1100, 1100], [count, count], [count + 50, count]]
    assert {"last_confirmed", "stored_score", "relevance_score"} <= {*answers[4]}
    # A list of all is no reading, and of a question that finds very many the best alone were read.
    await memory.engine.access_log.flush()
    stored = await memory.store.get(ada.caller.space, [written.id for written in (*ledgers, *teas)])
    assert 0 < sum(entity.access_count > 0 for entity in stored.values()) <= 150

    # Outside, the same matches come in pages, and the last page ends with the last of them.
    (search,) = (tool for tool in TOOLSETS["enhanced"] if tool.name == "search_nodes")
    context = ToolContext(engine=memory.engine, who=ada.caller)
    question: dict[str, Json] = {"query": "quarterly ledger", "limit": 10_000}
    first = (await search.call(context, question)).structured
    last = (await search.call(context, {**question, "cursor": pack(count - 5)})).structured
    assert (first["count"], "cursor" in first, "cursor" in last) == (count, True, False)
    nodes = [*cast("list[dict[str, Json]]", first["results"]), *cast("list[dict[str, Json]]", last["results"])]
    assert {str(node["type"]) for node in nodes} == {"plant"}
    assert len({str(node["id"]) for node in nodes[-5:]} - {str(node["id"]) for node in nodes[:-5]}) == 5
