"""The border between programs and the memory: any call is answered, many run at once, and nothing is left behind."""

import ast
import asyncio
import gc
import json
from collections.abc import AsyncGenerator, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.curated import open_curated

from scrubjay.code import CodeRunner
from scrubjay.code.functions import may_call, signature_of, verbs_for
from scrubjay.code.library import MODULES
from scrubjay.code.values import NotJson, part_of, plain
from scrubjay.code.wall import WallPolicy
from scrubjay.model.arguments import Request
from scrubjay.model.caller import Access, Caller
from scrubjay.model.code import CodeLimits, CodeResult
from scrubjay.model.requests import RunCodeRequest, UndoRequest
from scrubjay.model.verbs import VERBS
from scrubjay.service import LocalService

LIMITS = CodeLimits(seconds=5, memory_mb=64, output_kb=100, workspace_kb=100, workers=4)
_OWN = ("search_nodes", "get_status", "diff", "read_file", "write_file", "delete_file", "load_result", "functions")
_NAMES = (*_OWN, *(name for name, verb in VERBS.items() if may_call(verb)), "recall_many", "nothing", "statistics.mean")
_ARGUMENTS = (
    "id",
    "ids",
    "query",
    "limit",
    "text",
    "name",
    "entities",
    "tags",
    "since",
    "metadata",
    "items",
    "changes",
)
_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20) | st.binary(max_size=5)
    | st.sampled_from(["", "own", "a\x00b", "\ud800", "../x", "9" * 500, 10**300, "2026-01-01"]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.tuples(inner, inner) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=6,
)  # fmt: skip


class Programs:
    """Programs over an empty memory."""

    def __init__(self, service: LocalService) -> None:
        self.service = service

    async def run(self, code: str) -> CodeResult:
        return await self.service.call(RunCodeRequest(code=code), who=Caller(agent="ada"))


async def _open(folder: Path) -> AsyncGenerator[Programs]:
    async with open_curated(folder) as memory:
        runner = CodeRunner(documents=memory.store, clock=memory.clock, limits=LIMITS, policy=WallPolicy.AUTO)
        yield Programs(LocalService.over(replace(memory.engine, programs=runner)))
        await runner.close()


@pytest.fixture(scope="module")
def loop() -> Iterator[asyncio.Runner]:
    with asyncio.Runner() as opened:
        yield opened


@pytest.fixture(scope="module")
def programs(loop: asyncio.Runner, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Programs]:
    opened = _open(tmp_path_factory.mktemp("programs"))
    yield loop.run(anext(opened))
    with pytest.raises(StopAsyncIteration):
        loop.run(anext(opened))


@settings(
    max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
)
@given(
    name=st.sampled_from(_NAMES), args=st.lists(_VALUES, max_size=3),
    kwargs=st.dictionaries(st.sampled_from(_ARGUMENTS), _VALUES, max_size=3),
)  # fmt: skip
def test_any_call_is_answered(
    loop: asyncio.Runner, programs: Programs, name: str, args: list[object], kwargs: dict[str, object]
) -> None:
    head = "from math import inf, nan\n" + ("import statistics\n" if "." in name else "")
    answer = loop.run(programs.run(f"{head}result = {name}(*{args!r}, **{kwargs!r})"))
    assert answer.success or answer.error
    assert "inside the memory" not in answer.error, answer.error
    json.dumps(answer.result, allow_nan=False)


@given(value=_VALUES, offset=st.integers(0, 5), tokens=st.integers(10, 200))
def test_parts_of_any_value_are_json_and_cover_it(value: object, offset: int, tokens: int) -> None:
    try:
        whole = plain(value, most=100_000)
    except NotJson:
        return
    json.dumps(whole, allow_nan=False).encode()
    part, following = part_of(whole, offset=offset, tokens=tokens)
    json.dumps(part)
    assert following is None or following > offset


async def test_a_program_ends_in_time_and_its_write_is_completed_after_it(tmp_path: Path) -> None:
    async with open_curated(tmp_path) as memory:
        limits, may_write = replace(LIMITS, seconds=1), asyncio.Event()
        runner = CodeRunner(documents=memory.store, clock=memory.clock, limits=limits, policy=WallPolicy.AUTO)
        service, ada = LocalService.over(memory.engine), Caller(agent="ada")

        async def call(request: Request[object], *, who: Caller) -> object:
            await may_write.wait()
            return await service.call(request, who=who)

        code = RunCodeRequest(
            code="create_entities([{'name': 'Sarah', 'entityType': 'person', 'observations': ['x']}])"
        )
        answer = await runner.bound_to(call, engine=memory.engine).run_code(code, who=ada)
        assert "longer than 1 s" in answer.error
        assert "create_entities is still being completed" in answer.error
        assert "undo" in answer.hint
        may_write.set()
        await runner.close()
        undone = await service.call(UndoRequest(run=answer.run), who=ada)
        assert len(undone.done) == 1


def test_every_module_that_is_named_can_be_imported(loop: asyncio.Runner, programs: Programs) -> None:
    answer = loop.run(programs.run("".join(f"import {name}\n" for name in MODULES) + "result = 1"))
    assert (answer.result, answer.error) == (1, "")


def test_signatures_are_python() -> None:
    for name, verb in verbs_for(Access.AGENT).items():
        # An ellipsis stands for a default that is no simple value.
        ast.parse(f"def {signature_of(verb).replace('…', '...')}: pass")
        assert signature_of(verb).startswith(f"{name}(")


@pytest.mark.parametrize("value", ["recall", "{'x': recall}", "[search_nodes]", "{recall_many: 1}"])
def test_a_function_of_the_memory_is_no_result(loop: asyncio.Runner, programs: Programs, value: str) -> None:
    answer = loop.run(programs.run(f"result = {value}"))
    assert (answer.success, answer.result, "is no JSON" in answer.error) == (False, None, True)


def test_a_function_is_no_argument(loop: asyncio.Runner, programs: Programs) -> None:
    answer = loop.run(programs.run("remember(recall)"))
    assert "an argument of remember: it contains 'recall'" in answer.error


def test_a_run_is_one_that_can_be_undone(loop: asyncio.Runner, programs: Programs) -> None:
    for code in (
        "result = remember_many([{'bogus': 1}])['items'][0]['error']['code']",
        "try:\n  save_skill('odd', 'def odd():\\n    return 1 / 0', 'Odd.')\nexcept ValueError:\n  result = 'refused'",
    ):
        answer = loop.run(programs.run(code))
        assert (answer.success, bool(answer.result), answer.run) == (True, True, ""), answer
    changed = loop.run(programs.run("remember('Deploys happen on Thursdays')"))
    assert loop.run(programs.service.call(UndoRequest(run=changed.run), who=Caller(agent="ada"))).done


def test_twenty_at_once(loop: asyncio.Runner, programs: Programs) -> None:
    async def all_at_once() -> list[CodeResult]:
        code = "remember(f'note {n}')\nx = sum(i * i for i in range(20000))\nresult = [n, len(search_nodes('x'))]"
        return await asyncio.gather(*(programs.run(f"n = {n}\n{code}") for n in range(20)))

    answers = loop.run(all_at_once())
    assert [answer.error for answer in answers] == [""] * 20
    assert [answer.result[0] for answer in answers if isinstance(answer.result, list)] == list(range(20))


def test_programs_leave_no_objects_behind(loop: asyncio.Runner, programs: Programs) -> None:
    async def many(count: int) -> None:
        for number in range(count):
            code = (
                f"x = ['word'] * 1000\nwrite_file('a', str({number}))\nresult = [len(search_nodes('', limit=5)), x[:9]]"
            )
            assert (await programs.run(code if number % 10 else "1 / 0")).error in (
                "",
                "ZeroDivisionError: division by zero",
            )

    def measure() -> tuple[int, float]:
        gc.collect()
        return len(gc.get_objects()), resident_mb_of_this_process()

    loop.run(many(100))
    objects, memory = measure()
    loop.run(many(200))
    more_objects, more_memory = measure()
    assert more_objects - objects < 2_000
    assert more_memory - memory < 20


def resident_mb_of_this_process() -> float:
    """Return the memory of this process, which has children of its own; 0 where the system does not tell."""
    pages = Path("/proc/self/statm")
    return int(pages.read_text(encoding="ascii").split()[1]) / 256 if pages.exists() else 0.0
