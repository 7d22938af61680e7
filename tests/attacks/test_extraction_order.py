"""A language model that exchanges the sides of a statement stores nothing of it."""

from dataclasses import replace
from pathlib import Path

import pytest

from scrubjay.app import open_engine
from scrubjay.client import MemoryClient
from scrubjay.model.caller import Caller
from scrubjay.settings import Settings
from tests.unit.extraction.scripted import ScriptedModel, a_fact

EXCHANGED = [
    ("I prefer tea to coffee.", "Ann prefers coffee to tea."),
    ("I prefer tea to coffee.", "Ann prefers coffee."),
    ("I prefer tea over coffee.", "Ann prefers coffee to tea."),
    ("I like tea more than coffee", "Ann likes coffee more than tea"),
    ("I moved from Oslo to Rome.", "Ann moved from Rome to Oslo."),
    ("I moved from Oslo to Rome.", "Ann moved to Oslo from Rome."),
    ("I drink tea instead of coffee", "Ann drinks coffee instead of tea"),
    ("I use Vim, not Emacs.", "Ann uses Emacs, not Vim."),
    ("My brother Ben is taller than my sister Eve.", "Ann's sister Eve is taller than her brother Ben."),
    ("I chose Python over Rust for the project.", "Ann chose Rust over Python for the project."),
    ("I don't like tea but coffee.", "Ann doesn't like coffee but tea."),
    ("I plan to prefer tea to coffee.", "Ann plans to prefer coffee to tea."),
    ("I'd rather walk than drive to work.", "Ann would rather drive than walk to work."),
    ("Ben gave the car to Eve.", "Eve gave the car to Ben."),
    ("I switched from Postgres to SQLite.", "Ann switched from SQLite to Postgres."),
    ("I prefer working from home to the office.", "Ann prefers the office to working from home."),
    ("Ich trinke lieber Tee als Kaffee.", "Ann trinkt lieber Kaffee als Tee."),
    ("I always take the train rather than the bus.", "Ann always takes the bus rather than the train."),
    ("We migrated from MySQL 5.7 to PostgreSQL 16.", "They migrated from PostgreSQL 16 to MySQL 5.7."),
    ("I like cats over dogs", "Ann likes cats and dogs"),
    ("I use tabs, not spaces, for indentation", "Ann uses spaces, not tabs, for indentation"),
]
FAITHFUL = [
    ("I prefer tea to coffee.", "Ann prefers tea to coffee."),
    ("I moved from Oslo to Rome.", "Ann moved to Rome from Oslo."),
    ("I moved from Oslo to Rome.", "Ann moved to Rome."),
    ("I moved with Eve to a new flat in Rome.", "Ann moved to a flat in Rome with Eve."),
    ("I moved to Rome in May 2024.", "In May 2024 Ann moved to Rome."),
    ("I want to learn Spanish.", "Ann wants to learn Spanish."),
    ("I'd rather walk than drive to work.", "Ann would rather walk than drive to work."),
    ("I use Vim, not Emacs.", "Ann uses Vim, not Emacs."),
    ("I don't drink coffee.", "Ann does not drink coffee."),
    ("I prefer tea to coffee.", "Ann prefers tea."),
    ("I chose Python over Rust for the project.", "For the project Ann chose Python over Rust."),
    ("I like tea more than coffee", "Ann likes tea more than coffee"),
    ("I am allergic to nuts and I work from home.", "Ann is allergic to nuts."),
    ("I work from home and I am allergic to nuts.", "Ann works from home."),
    ("Instead of coffee I drink tea.", "Ann drinks tea instead of coffee."),
    ("To Rome I moved from Oslo", "Ann moved from Oslo to Rome"),
]


@pytest.mark.parametrize(("turn", "answer"), EXCHANGED)
async def test_a_model_that_exchanges_the_two_sides_of_a_choice_stores_nothing(
    turn: str, answer: str, tmp_path: Path
) -> None:
    """A fact by a language model keeps what stands before and after "to", "not", "than", "from", "over"."""
    assert await _stored(turn, answer, tmp_path) == []


@pytest.mark.parametrize(("turn", "answer"), FAITHFUL)
async def test_a_model_that_keeps_the_sides_is_believed(turn: str, answer: str, tmp_path: Path) -> None:
    """A faithful fact is stored, also when its parts stand in another order."""
    assert await _stored(turn, answer, tmp_path) == [answer]


async def _stored(turn: str, answer: str, folder: Path) -> list[str]:
    async with open_engine(Settings.load(home=str(folder), embedder="none", vector_index="scan")) as engine:
        with_model = replace(engine, llm=ScriptedModel([a_fact(answer, kind="preference")]))
        memory = MemoryClient.over(with_model, Caller(agent="reader"))
        extracted = await memory.extract(f"Ann: {turn}", method="llm")
        if not extracted.facts:
            return []
        return [item.content for item in (await memory.read([fact.id for fact in extracted.facts])).memories]
