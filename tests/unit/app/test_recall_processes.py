"""Questions that other processes answer: the same answers, the newest state, and no question lost with a process."""

import asyncio
import os
import signal
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager, suppress
from copy import copy
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from tests.fakes import FakeClock
from tests.patience import PATIENCE
from tests.unit.recording_observer import RecordingObserver

from scrubjay import telemetry
from scrubjay.app import open_engine
from scrubjay.app.recall_processes import RecallProcesses
from scrubjay.engine import Engine
from scrubjay.errors import InvalidInput
from scrubjay.model.caller import Caller
from scrubjay.model.query import Filter
from scrubjay.model.requests import ForgetRequest, PurgeRequest, RecallRequest, RememberRequest
from scrubjay.model.results import Recalled
from scrubjay.recalling.access_log import AccessLog
from scrubjay.settings import Settings

CALLER = Caller(space="work", agent="tester")
ALL = Filter()
PEOPLE = ("Anna", "Boris", "Carla", "Dmitri", "Elena", "Farid")
ACTS = ("repaired a boiler", "sold a ferry", "baked rye bread", "painted a lighthouse", "learned the cello")
TEXTS = [
    f"{person} {act} in {2001 + 7 * at + 40 * way % 19}."
    for at, person in enumerate(PEOPLE)
    for way, act in enumerate(ACTS)
]
QUESTIONS = [f"Who {act}, and did {person}?" for person in PEOPLE for act in ACTS]
# Each text is a day younger than the one before.
CLOCK = FakeClock(step=timedelta())
SOME_DAYS_LATER, MANY_DAYS_LATER = (CLOCK.now() + timedelta(days=days) for days in (9, 21))
FILTERS = (
    Filter(kind="fact"), Filter(tags=("work",)), Filter(tags=("work", "boat")), Filter(any_tags=("home", "boat")),
    Filter(category="life"), Filter(project="ferry"), Filter(project="*"), Filter(scope="team"), Filter(tier="working"),
    Filter(agent="tester"), Filter(metadata={"place": 3}), Filter(since=SOME_DAYS_LATER), Filter(until=SOME_DAYS_LATER),
    Filter(kind="note", any_tags=("work",), since=SOME_DAYS_LATER, until=MANY_DAYS_LATER),
)  # fmt: skip


@asynccontextmanager
async def crowded(
    folder: Path, *, idle_seconds: float = 60.0, **more: str | bool
) -> AsyncGenerator[tuple[Engine, RecallProcesses]]:
    """Open an engine that answers beside a process, which is ready, and some memories."""
    settings = Settings.load(environment={}, home=str(folder), **more)
    processes = RecallProcesses(settings, most=1, many=1, idle_seconds=idle_seconds)
    async with open_engine(settings) as opened:
        clock = copy(CLOCK)
        # A counted access would change the score of a later answer.
        uncounted = AccessLog(None, clock=clock)
        engine = replace(opened, recall_processes=processes, clock=clock, access_log=uncounted)
        for number, text in enumerate(TEXTS):
            await engine.remember(_labelled(text, number), who=CALLER)
            clock.advance(timedelta(days=1))
        await until_ready(engine, processes)
        yield engine, processes
        await processes.close()


def _labelled(text: str, number: int) -> RememberRequest:
    return RememberRequest(
        text=text,
        pinned=number == 0,
        kind=("note", "fact")[number % 2],
        entities=(text.split(maxsplit=1)[0],),
        tags=(("work",), ("home",), ("work", "boat"))[number % 3],
        category=("life", "life/old", "")[number % 3],
        project=("", "", "", "ferry")[number % 4],
        scope=("team", "personal")[number % 5 // 3],
        metadata={"place": number % 6},
    )


async def until_ready(engine: Engine, processes: RecallProcesses) -> None:
    async with asyncio.timeout(PATIENCE):
        while not processes.pids:
            await ask(engine, QUESTIONS[:4])
            await asyncio.sleep(0.05)


async def ask(engine: Engine, questions: Sequence[str], criteria: Filter = ALL) -> list[Recalled]:
    """Ask at once, without answers of the cache."""
    engine.answers.clear()
    return await asyncio.gather(
        *(engine.recall(RecallRequest(query=query, filter=criteria), who=CALLER) for query in questions)
    )


def shown(answers: Sequence[Recalled]) -> list[object]:
    """Return all of them but their cursors, which name themselves."""
    return [
        [replace(hit, score=round(hit.score, 6)) for hit in (*answer.pinned, *answer.hits)]
        + [(answer.tokens, answer.nothing_relevant, answer.degraded, answer.notes, bool(answer.cursor))]
        for answer in answers
    ]


@pytest.mark.parametrize("more", [{}, {"reader": "off"}, {"key": "a key of the test"}], ids=["", "no reader", "key"])
async def test_answers_are_the_same_wherever_they_are_made(tmp_path: Path, more: dict[str, str]) -> None:
    observer = RecordingObserver()
    async with crowded(tmp_path, idle_seconds=60.0, **more) as (engine, _):
        alone = replace(engine, recall_processes=None)
        every = [(QUESTIONS, criteria) for criteria in (Filter(), Filter(kind="note"), Filter(entity="Anna"))]
        filtered = [(QUESTIONS[number % 4 :: 4], criteria) for number, criteria in enumerate(FILTERS)]
        for questions, criteria in (*every, *filtered):
            with telemetry.observe(observer):
                beside = await ask(engine, questions, criteria)
            assert any(answer.hits for answer in beside)
            assert shown(beside) == shown(await ask(alone, questions, criteria))
    assert observer.counts["recalls_elsewhere", "answered"] > len(QUESTIONS)
    assert ("recalls_elsewhere", "failed") not in observer.counts
    # The stages there are part of the metrics here.
    assert observer.names.count("recall.collapse") == sum(len(questions) for questions, _ in (*every, *filtered))


async def test_a_question_sees_what_was_written_and_purged_just_before(tmp_path: Path) -> None:
    async with crowded(tmp_path, reader=False) as (engine, _):
        for number in range(5):
            text = f"The lighthouse number {number} has a lamp made in Turku."
            written = await engine.remember(RememberRequest(text=text), who=CALLER)
            question = f"Where was the lamp of lighthouse number {number} made?"
            for answer in await ask(engine, [question] * 8):
                assert written.id in [hit.id for hit in answer.hits]
            await engine.forget(ForgetRequest(ids=(written.id,)), who=CALLER)
            await engine.purge(PurgeRequest(ids=(written.id,)), who=CALLER)
            for answer in await ask(engine, [question] * 8):
                assert written.id not in [hit.id for hit in answer.hits]


async def test_no_question_is_lost_with_the_process(tmp_path: Path) -> None:
    async with crowded(tmp_path, idle_seconds=2.0, reader=False) as (engine, processes):
        expected = shown(await ask(replace(engine, recall_processes=None), QUESTIONS))
        asking = asyncio.create_task(ask(engine, QUESTIONS * 3))
        await asyncio.sleep(0.05)
        for pid in processes.pids:
            os.kill(pid, signal.SIGKILL)
        assert shown(await asking) == expected * 3
        # Later another one takes its place.
        await until_ready(engine, processes)
        assert shown(await ask(engine, QUESTIONS)) == expected


async def test_a_process_that_hangs_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("scrubjay.app.recall_processes.child._PATIENCE_SECONDS", 0.5)
    async with crowded(tmp_path, reader=False) as (engine, processes):
        expected = shown(await ask(replace(engine, recall_processes=None), QUESTIONS))
        (pid,) = processes.pids
        os.kill(pid, signal.SIGSTOP)
        assert shown(await ask(engine, QUESTIONS)) == expected
        assert processes.pids == []


async def test_an_error_is_that_of_the_engine(tmp_path: Path) -> None:
    async with crowded(tmp_path, reader=False) as (engine, _):
        requests = [RecallRequest(query=question, cursor="no cursor") for question in QUESTIONS]
        answers = await asyncio.gather(
            *(engine.recall(request, who=CALLER) for request in requests), return_exceptions=True
        )
        assert {type(answer) for answer in answers} == {InvalidInput}
        assert {answer.fields["field"] for answer in answers if isinstance(answer, InvalidInput)} == {"cursor"}


async def test_a_process_ends_when_few_ask_and_with_the_daemon(tmp_path: Path) -> None:
    async with crowded(tmp_path, idle_seconds=1.0, reader=False) as (engine, processes):
        (first,) = processes.pids
        await until_gone(first)
        assert processes.pids == []
        await until_ready(engine, processes)
        (second,) = processes.pids
    await until_gone(second)


async def test_few_questions_start_no_process(tmp_path: Path) -> None:
    settings = Settings.load(environment={}, home=str(tmp_path), reader=False)
    processes = RecallProcesses(settings, most=1, many=1)
    async with open_engine(settings) as opened:
        engine = replace(opened, recall_processes=processes)
        for question in QUESTIONS:
            await ask(engine, [question] * 2)
        assert processes.pids == []
        await processes.close()


async def until_gone(pid: int) -> None:
    async with asyncio.timeout(PATIENCE):
        with suppress(ProcessLookupError):
            while True:
                os.kill(pid, 0)
                await asyncio.sleep(0.02)
