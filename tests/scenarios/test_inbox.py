"""A memory that waits for approval cannot bypass the inbox, and writes leave no secret in the log."""

from pathlib import Path

import pytest

from scrubjay.app import open_engine
from scrubjay.client import MemoryClient
from scrubjay.errors import WrongState
from scrubjay.graph.entity import Entity
from scrubjay.model.caller import Caller
from scrubjay.model.memory import Method, State
from scrubjay.model.requests import OutcomeRequest
from scrubjay.settings import Settings

KEY = "AKIAIOSFODNN7EXAMPLE"
CUT = "[redacted: aws access key]"
TEXT = "The harbour cranes are maintained each spring, and nobody may work below them while that is done."


async def test_an_agent_finds_no_way_past_the_inbox(tmp_path: Path) -> None:
    who = Caller(agent="robot")
    async with open_engine(Settings.load(home=str(tmp_path))) as engine:
        memory = MemoryClient.over(engine, who)
        await memory.set_rules(review="agents")
        made = await memory.remember(TEXT, source={"method": Method.AGENT.value})
        await memory.forget([made.id])
        await memory.restore([made.id])
        again = await memory.remember(TEXT, source={"method": Method.AGENT.value})
        assert (again.action, again.id) == ("unchanged", made.id)
        await memory.undo()
        await memory.undo()
        with pytest.raises(WrongState):
            await engine.knowledge_graph(who=who).create_entities([Entity(name="crane", type="thing")])
        (stored,) = await memory.inbox()
        assert (stored.id, stored.state) == (made.id, State.WAITING)
        assert (await memory.recall("harbour cranes")).hits == ()
        await memory.approve([made.id])
        assert [hit.id for hit in (await memory.recall("harbour cranes")).hits] == [made.id]


async def test_writes_leave_no_secret_in_the_log(tmp_path: Path) -> None:
    who = Caller(agent=f"agent {KEY}", run=f"run {KEY}")
    async with open_engine(Settings.load(home=str(tmp_path))) as engine:
        memory = MemoryClient.over(engine, who)
        made = await memory.remember(TEXT)
        (version,) = await engine.reader.versions("default", made.id, limit=9)
        assert (version.agent, version.run) == (f"agent {CUT}", f"run {CUT}")
        assert await engine.outcome(OutcomeRequest(runs=(f"run {KEY}",)), who=who) == {f"run {KEY}": True}
        assert [change.id for change in (await memory.undo()).done] == [made.id]
