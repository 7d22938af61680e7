"""Notes of one template have no conflicts by what the template says, and keep those by what they say themselves."""

from dataclasses import replace

import pytest
from tests.fakes.build import a_memory
from tests.unit.harness import SPACE, Harness

from scrubjay.conflicts.listing import conflicts
from scrubjay.conflicts.scan import scan
from scrubjay.detection.boilerplate import find_boilerplate, is_formal
from scrubjay.model.conflict import ConflictDetails, ConflictType
from scrubjay.model.draft import Draft
from scrubjay.model.rules import Rules

TEMPLATE = """# {day}

![[header.png]]

## Tasks
- [ ] Review the inbox
- [x] Water the plants

Remember to be kind to yourself.

## Notes
{note}

**Weather:** {day} in the yard
Created: {day} 09:00
Tags: #daily #journal
"""
NOTES = ("Ann repaired the boat.", "Bob lost his umbrella.", "The kitchen smells of paint.", "Greta sings alto.")
TWO_LINES = "The first line.\n\n"


def of_template(note: str, number: int) -> Draft:
    day = f"2026-{1 + number // 28:02}-{1 + number % 28:02}"
    return Draft(text=TEMPLATE.format(day=day, note=note), title=f"Daily {day}", intent="new")


def with_conflicts(harness: Harness) -> Harness:
    return replace(harness, rules=Rules(gate="off", density="off", tags="off"))


async def pending(harness: Harness) -> tuple[ConflictDetails, ...]:
    return await conflicts(
        status="pending", ref="", limit=1_000, now=harness.clock.now(), space=SPACE, store=harness.store
    )


async def test_four_notes_of_one_template_have_no_pending_conflict(harness: Harness) -> None:
    harness = with_conflicts(harness)
    for number, note in enumerate(NOTES):
        await harness.remember(of_template(note, number))
    assert await pending(harness) == ()
    # What the notes themselves say still counts.
    answer = await harness.remember(of_template("Greta sings alto no longer.", 4))
    assert [conflict.type for conflict in answer.conflicts] == [ConflictType.CONTRADICTION]


async def test_a_vault_of_a_hundred_notes_has_no_conflicts_by_its_template(harness: Harness) -> None:
    # Words of no language: every note says something else.
    notes = [" ".join(f"{stem}{number:02}x" for stem in ("vor", "mel", "tis")) + "." for number in range(100)]
    await with_conflicts(harness).remember_many([of_template(note, number) for number, note in enumerate(notes)])
    assert await pending(harness) == ()
    done = await scan(limit=10, space=SPACE, origin=harness.origin(), context=harness.context)
    assert (done.memories, done.count) == (100, 0)


async def test_two_notes_may_share_a_sentence_until_a_third_has_it(harness: Harness) -> None:
    harness = with_conflicts(harness)
    shared = "The cellar key hangs behind the door."
    for note in NOTES[:2]:
        await harness.remember(Draft(text=f"{note}\n\n{shared}", intent="new"))
    (conflict,) = await pending(harness)
    assert conflict.type is ConflictType.DUPLICATE
    third = await harness.remember(Draft(text=f"{NOTES[2]}\n\n{shared}", intent="new"))
    assert (third.conflicts, await pending(harness)) == ((), ())
    (settled,) = await conflicts(
        status="ignored", ref="", limit=10, now=harness.clock.now(), space=SPACE, store=harness.store
    )
    assert (settled.id, "template" in settled.notes) == (conflict.id, True)


@pytest.mark.parametrize(
    ("line", "formal"),
    [
        ("## Meetings", True),
        ("- [ ] Call the plumber", True),
        ("- ", True),
        ("![[photo.png]]", True),
        ("**With:** ", True),
        ("**Date:** 2026-03-01 10:00", True),
        ("_Decided on 2026-03-01._", True),
        ("Monday, 2 March 2026", True),
        ("#work #home", True),
        ("The deadline is 2026-03-01.", False),
        ("Deadline: 2026-03-01", False),
        ("- Call the plumber", False),
        ("Ann: yes", False),
    ],
)
def test_a_line_of_a_note_shows_by_its_form_that_it_claims_nothing(line: str, formal: bool) -> None:
    assert is_formal(a_memory(f"{TWO_LINES}{line}"), line) is formal
    assert not is_formal(a_memory(line), line)


def test_a_date_in_a_sentence_is_what_the_sentence_is_about() -> None:
    texts = [f"{TWO_LINES}The deadline is 2026-03-0{day}.\n\nReview: 2026-03-0{day}" for day in (1, 2, 3)]
    first, *others = [a_memory(text) for text in texts]
    statements = [line for line in first.content.splitlines() if line]
    boilerplate = find_boilerplate(first, statements, {other.id: other for other in others})
    assert [text for text in statements if boilerplate.includes(first, text)] == ["The first line.", statements[-1]]
