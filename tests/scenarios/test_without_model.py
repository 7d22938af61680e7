"""Without an embedding model everything works by words, says so, and catches up when a model becomes available."""

import json
from pathlib import Path

import pytest

from scrubjay.client import MemoryClient
from scrubjay.settings import Settings
from tests.fakes import FakeEmbedder
from tests.scenarios.wiring import open_wiring, run_command


async def test_words_alone_are_enough_and_status_says_so(home: Path) -> None:
    async with MemoryClient(settings=Settings(home=str(home), embedder="none")) as memory:
        done = await memory.remember("Sarah plays the cello on Tuesdays", title="Cello")
        assert any("found by its words only" in warning for warning in done.warnings)
        recalled = await memory.recall("who plays the cello?")
        assert [hit.id for hit in recalled.hits] == [done.id]
        assert "words only" in recalled.degraded[0]
        assert not (await memory.recall("leaking boiler")).hits
        await memory.revise(done.id, text="Sarah plays the viola on Tuesdays")
        assert [hit.id for hit in (await memory.recall("viola")).hits] == [done.id]
        status = await memory.status()
        assert status.embedding["available"] is False
        assert "lexical search only" in status.degraded[0]
        checks = {check.name: check for check in (await memory.doctor()).checks}
        assert not checks["embedding"].ok
        assert checks["embedding"].fix
        assert checks["vectors"].ok


async def test_a_model_that_comes_later_embeds_what_is_missing(home: Path) -> None:
    async with MemoryClient(settings=Settings(home=str(home), embedder="none")) as memory:
        cello = await memory.remember("Sarah plays the cello on Tuesdays")
        await memory.remember("The boiler in the cellar is leaking again")
    # Without related words: the memory is found by meaning alone.
    async with MemoryClient(settings=Settings(home=str(home), recall_without="kin")) as memory:
        checks = {check.name: check for check in (await memory.doctor()).checks}
        assert not checks["vectors"].ok
        assert "2 memories are not embedded yet" in checks["vectors"].detail
        assert (await memory.doctor(repair=True)).ok
        status = await memory.status()
        assert (status.index["points"], status.degraded) == (2, ())
        recalled = await memory.recall("string instrument music lessons", explain=True)
        assert recalled.hits[0].id == cello.id
        assert "words 0.00" in recalled.hits[0].why[0]
        assert recalled.degraded == ()


def test_the_same_on_the_command_line(home: Path) -> None:
    run_command(home, "remember", "Sarah plays the cello on Tuesdays", SCRUBJAY_EMBEDDER="none")
    status = json.loads(run_command(home, "status", "--json", SCRUBJAY_EMBEDDER="none").stdout)
    assert status["embedding"]["available"] is False
    assert status["degraded"]
    repaired = run_command(home, "doctor", "--repair", "--json")
    assert all(check["ok"] for check in json.loads(repaired.stdout)["checks"]), repaired.stdout
    recalled = json.loads(run_command(home, "recall", "music lessons", "--json").stdout)
    assert recalled["hits"][0]["passage"] == "Sarah plays the cello on Tuesdays"


async def test_an_outage_of_the_model_loses_no_write_and_no_question(home: Path) -> None:
    embedder = FakeEmbedder()
    async with open_wiring(home, embedder=embedder) as wiring:
        memory = wiring.client()
        before = await memory.remember("the cello is in the attic")
        await memory.recall("cello")
        embedder.failing = True
        during = await memory.remember("the cello was sold")
        recalled = await memory.recall("cello")
        assert {hit.id for hit in recalled.hits} == {before.id, during.id}
        assert recalled.degraded
        embedder.failing = False
        assert (await memory.recall("cello")).degraded == ()
        assert not {check.name: check.ok for check in (await memory.doctor()).checks}["vectors"]
        assert (await memory.doctor(repair=True)).ok
        assert (await memory.status()).index["points"] == 2


async def test_another_model_takes_over_and_the_old_vectors_do_no_harm(home: Path) -> None:
    async with open_wiring(home, embedder=FakeEmbedder(model="old-32", dimension=32)) as wiring:
        for number in range(5):
            await wiring.client().remember(f"bird number {number}")
        assert (await wiring.client().recall("bird")).hits
    async with open_wiring(home, embedder=FakeEmbedder(model="new-48", dimension=48)) as wiring:
        memory = wiring.client()
        assert len((await memory.recall("bird")).hits) == 5
        assert (await memory.doctor(repair=True)).ok
        status = await memory.status()
        assert (status.embedding["model"], status.index["points"], status.index["problem"]) == ("new-48", 5, "")
    async with open_wiring(home, embedder=FakeEmbedder(model="old-32", dimension=32)) as wiring:
        assert len((await wiring.client().recall("bird")).hits) == 5
        assert (await wiring.client().doctor()).ok


@pytest.mark.parametrize("name", ["nonsense", "openai"])
def test_an_embedder_that_cannot_be_chosen_is_refused_at_once(home: Path, name: str) -> None:
    home.mkdir()
    refused = run_command(home, "remember", "The jay hid an acorn", SCRUBJAY_EMBEDDER=name)
    assert refused.returncode == 2
    assert "SCRUBJAY_EMBED" in refused.stderr
