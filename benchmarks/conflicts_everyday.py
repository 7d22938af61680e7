"""Short facts as agents store them: values that exclude each other, and values that go together."""

import tempfile
from collections.abc import Iterator, Sequence
from itertools import combinations
from pathlib import Path
from random import Random
from typing import NamedTuple

from benchmarks.memories import CALLER
from scrubjay.app import open_engine
from scrubjay.model.caller import Caller
from scrubjay.model.conflict import ConflictDetails, ConflictType
from scrubjay.model.draft import Draft
from scrubjay.settings import Settings

__all__ = ["BOTH_TRUE", "ONE_VALUE", "detect_on_write", "everyday_pairs"]

ONE_VALUE = "everyday, another value excludes it"
BOTH_TRUE = "everyday, another value, both true"
_SEED = 11
_OF_EACH = 3
_WHO = "Ada Boris Chen Dalia Emeka Farah".split()
_PLACES = "Lisbon Graz Oslo Turin Ghent Malmo".split()
_FIRMS = "Initech Globex Umbrella Hooli Vandelay".split()
_TOOLS = "Redis Kafka Docker Ansible Grafana".split()
_NUMBERS = "2 3 5 8 12".split()
_DAYS = "Monday Tuesday Wednesday Thursday Friday".split()
_HOBBIES = "chess rowing pottery judo origami".split()
# Statements that exclude another value; the second form, if any, states the other value in other words.
_EXCLUDING: tuple[tuple[Sequence[str], Sequence[str]], ...] = (
    (("{who} lives in {}.",), _PLACES),
    (("{who} lives in {}.", "{who} moved to {} last month."), _PLACES),
    (("user: I live in {}.", "user: I have moved to {}."), _PLACES),
    (("Lives in {}", "Moved to {}"), _PLACES),
    (("{who} works at {}.", "{who} works for {} now."), _FIRMS),
    (("{who} works at {}.", "{who} started a new job at {}."), _FIRMS),
    (("{who} was born in {}.",), _PLACES),
    (("The user's manager is {}.",), _WHO),
    (("My dentist is {}.", "{} is my dentist."), _WHO),
    (("{who}'s dog is called {}.",), "Rex Bello Fido Laika Nero".split()),
    (("{who} has {} cats.",), _NUMBERS),
    (("The service listens on port {}.", "The service now listens on port {}."), "8080 9090 7000 5050".split()),
    (("The timeout is {} seconds.",), _NUMBERS),
    (("The review is on {}.", "The review was moved to {}."), _DAYS),
    (("The backend is written in {}.",), "Go Rust Kotlin Scala".split()),
    (("The default branch is {}.",), "main master trunk develop".split()),
    (("The team's database is {}.",), "PostgreSQL MySQL Oracle SQLite".split()),
    (("Use {} for linting.",), "ruff pylint flake8".split()),
    (("My favourite colour is {}.",), "blue green red yellow".split()),
    (("Ich wohne in {}.", "Ich bin nach {} gezogen."), _PLACES),
    (("Der Termin ist am {}.",), "Montag Dienstag Mittwoch".split()),
)
# Statements and their denials, with the same value.
_DENYING: tuple[tuple[Sequence[str], Sequence[str]], ...] = (
    (("{who} likes {}.", "{who} does not like {}."), ("olives", "opera")),
    (("{who} goes {}.", "{who} no longer goes {}."), ("swimming", "climbing")),
    (("The {} is enabled.", "The {} is disabled."), ("cache", "login")),
    (("Always {} before a merge.", "Never {} before a merge."), ("rebase", "squash")),
    (("{who} mag {}.", "{who} mag keinen {}."), ("Kaffee", "Fisch")),
)
# Statements that allow several values at once.
_GOING_TOGETHER: tuple[tuple[Sequence[str], Sequence[str]], ...] = (
    (("{who} likes {}.",), _HOBBIES),
    (("{who} speaks {}.",), "Greek Turkish Finnish Dutch".split()),
    (("{who} visited {}.",), _PLACES),
    (("{who} has been to {}.",), _PLACES),
    (("{who} knows {}.",), "Omar Samir Ines Kofi".split()),
    (("The firm has offices in {}.",), _PLACES),
    (("The app depends on {}.",), _TOOLS),
    (("We use {}.",), _TOOLS),
    (("The user asked about {}.",), _TOOLS),
    (("The tool supports Python {}.",), "3.11 3.12 3.13".split()),
    (("{who} swims on {}s.",), _DAYS),
    (("{who} ran {} km.",), _NUMBERS),
    (("The build took {} minutes.",), _NUMBERS),
    (("Fixed a bug in {}.py.",), "parser lexer loader cache".split()),
    (("{who} joined the {} club.",), _HOBBIES),
    (("{who} works with {}.",), "Omar Samir Ines Kofi".split()),
    (("{who} no longer lives in {}.", "{who} lives in {}."), _PLACES),
    (("{who} does not work at {}.", "{who} works at {}."), _FIRMS),
    (("We don't use {}.", "We use {}."), _TOOLS),
    (("{who}'s brother lives in {}.", "{who}'s sister lives in {}."), _PLACES),
    (("The old server has {} disks.", "The new server has {} disks."), _NUMBERS),
    (("Ticket {} is open.", "Ticket {} is closed."), _NUMBERS),
    (("{who} lived in {} as a child.", "{who} lives in {}."), _PLACES),
    (("{who} moved to {} in 2015.", "{who} moved to {} in 2021."), _PLACES),
    (("Ich spreche {}.",), "Englisch Polnisch Russisch".split()),
    (("Ich war in {}.",), _PLACES),
)


class EverydayPair(NamedTuple):
    """Two statements and their kind."""

    kind: str
    first: str
    second: str


def everyday_pairs() -> Iterator[EverydayPair]:
    """Generate pairs of both kinds, the same ones on every run."""
    random = Random(_SEED)
    for kind, templates in ((ONE_VALUE, _EXCLUDING), (BOTH_TRUE, _GOING_TOGETHER)):
        for forms, values in templates:
            for pair in random.sample(list(combinations(values, 2)), _OF_EACH):
                yield _fill(kind, forms, pair, random=random)
    for forms, values in _DENYING:
        yield from (_fill(ONE_VALUE, forms, (value, value), random=random) for value in values)


def _fill(kind: str, forms: Sequence[str], values: tuple[str, str], *, random: Random) -> EverydayPair:
    who = random.choice([name for name in _WHO if name not in values])
    first, second = (form.format(value, who=who) for form, value in zip((forms[0], forms[-1]), values, strict=True))
    return EverydayPair(kind, first, second)


async def detect_on_write(pairs: Sequence[EverydayPair]) -> list[tuple[EverydayPair, ConflictDetails | None]]:
    """Remember both statements of each pair in a new space, and return the conflict that the second one gets."""
    results: list[tuple[EverydayPair, ConflictDetails | None]] = []
    with tempfile.TemporaryDirectory() as folder:
        async with open_engine(Settings.load(environment={}, home=str(Path(folder)))) as engine:
            for number, pair in enumerate(pairs):
                who = Caller(space=f"pair-{number}", agent=CALLER.agent)
                await engine.remember(Draft(text=pair.first), who=who)
                answer = await engine.remember(Draft(text=pair.second), who=who)
                results.append((pair, max(answer.conflicts, key=_weight, default=None)))
    return results


def _weight(conflict: ConflictDetails) -> tuple[bool, float]:
    return conflict.type is ConflictType.CONTRADICTION, conflict.confidence
