"""Many notes that link each other and change at the same time: what is asked for at once must not be stale."""

from scrubjay.notes.sync.prefetch import Ahead
from tests.scenarios.notes.vaults import AGENT, Desk

MANY = 40


async def test_notes_that_are_renamed_together_name_each_other_rightly(context: Desk) -> None:
    def said(number: int, word: str) -> str:
        return f"See [[{word} {(number + 1) % MANY}]] and [[{word} {number // 2 if number else 7}]]."

    ids = [await context.write(said(number, "Note"), title=f"Note {number}") for number in range(MANY)]
    await context.sync()
    assert await context.vault.drift() == ()
    for number, one in enumerate(ids):
        await context.edit(one, title=f"Name {number}", category="new" if number % 3 else "")
    # Once, as somebody who follows the store does it.
    await context.vault.follow()
    for number, one in enumerate(ids):
        assert (await context.get(one)).content == said(number, "Name")
        assert said(number, "Name") in (await context.file(one)).read_text()
    assert await context.vault.drift() == ()


async def test_notes_that_go_together_leave_no_link_behind(context: Desk) -> None:
    ids = [await context.write(f"Text {number}.", title=f"Note {number}") for number in range(MANY)]
    for one, other in zip(ids, [*ids[1:], ids[0]], strict=True):
        await context.engine.relate(one, other, who=AGENT)
    await context.sync()
    for one in ids[::2]:
        await context.forget(one)
    await context.vault.follow()
    assert len(context.files()) == MANY // 2
    assert not [name for name in context.files() if "[[" in (context.root / name).read_text()]
    for one in ids[::2]:
        await context.restore(one)
    await context.vault.follow()
    assert all((context.root / name).read_text().count("[[") == 2 for name in context.files())
    assert await context.vault.drift() == ()


async def test_where_a_note_stands_is_asked_anew_when_something_has_touched_it(context: Desk) -> None:
    one, other, third = [await context.write(f"{name}.", title=name) for name in ("One", "Two", "Three")]
    await context.engine.relate(one, other, who=AGENT)
    await context.sync()
    ahead = Ahead(context.vault._context)
    known = await ahead.look([one, other, third])
    assert await ahead.state(third) is known[third]
    # Of two that are linked, the one shows what the other is called.
    await context.edit(other, title="Second")
    assert (await ahead.state(one)).linked[0].text == "Second"
    assert (await ahead.state(other)).shown.title == "Second"
    known = await ahead.look([one, other, third])
    assert await ahead.state(one) is known[one]
    # It is told once: whoever asks again wants to know what has become of it.
    assert await ahead.state(one) is not known[one]
    await context.engine.relate(third, other, who=AGENT)
    assert len((await ahead.state(third)).linked) == 1
    assert len((await ahead.state(other)).linked) == 2
