"""Programs over a memory: what they compute and change, in whose name, and what comes back, on both stores."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, cast

import pytest

from scrubjay.client import MemoryClient
from scrubjay.errors import InvalidInput, NotFound, TooLarge
from scrubjay.model.caller import Access, Caller
from scrubjay.model.code import CodeResult
from scrubjay.model.requests import RunCodeRequest
from scrubjay.service import LocalService
from tests.curated import STORES, CuratedMemory, open_curated


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


async def test_files_are_private_to_an_agent_in_a_space_and_have_a_quota(memory: CuratedMemory) -> None:
    ada = Programs(memory)
    await ada.value("write_file('a.json', json.dumps([1, 2]))")
    assert await ada.value("sum(json.loads(read_file('a.json')))") == 3
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
    for code in ("remember('x')", "create_entities([])", "revert('sarah', 1)", "undo()", "remember_many([])"):
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
