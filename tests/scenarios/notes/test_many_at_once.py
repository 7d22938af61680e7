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
    for number, item in enumerate(ids):
        await context.edit(item, title=f"Name {number}", category="new" if number % 3 else "")
    # Once, as somebody who follows the store does it.
    await context.vault.follow()
    for number, item in enumerate(ids):
        assert (await context.get(item)).content == said(number, "Name")
        assert said(number, "Name") in (await context.file(item)).read_text()
    assert await context.vault.drift() == ()


async def test_notes_that_go_together_leave_no_link_behind(context: Desk) -> None:
    ids = [await context.write(f"Text {number}.", title=f"Note {number}") for number in range(MANY)]
    for item, other in zip(ids, [*ids[1:], ids[0]], strict=True):
        await context.engine.relate(item, other, who=AGENT)
    await context.sync()
    for item in ids[::2]:
        await context.forget(item)
    await context.vault.follow()
    assert len(context.files()) == MANY // 2
    assert not [name for name in context.files() if "[[" in (context.root / name).read_text()]
    for item in ids[::2]:
        await context.restore(item)
    await context.vault.follow()
    assert all((context.root / name).read_text().count("[[") == 2 for name in context.files())
    assert await context.vault.drift() == ()


async def test_where_a_note_stands_is_asked_anew_when_something_has_touched_it(context: Desk) -> None:
    item, other, third = [await context.write(f"{name}.", title=name) for name in ("One", "Two", "Three")]
    await context.engine.relate(item, other, who=AGENT)
    await context.sync()
    ahead = Ahead(context.vault._context)
    existing = await ahead.look([item, other, third])
    assert await ahead.state(third) is existing[third]
    # Of two that are linked, the one shows what the other is called.
    await context.edit(other, title="Second")
    assert (await ahead.state(item)).linked[0].text == "Second"
    assert (await ahead.state(other)).shown.title == "Second"
    existing = await ahead.look([item, other, third])
    assert await ahead.state(item) is existing[item]
    # It is told once: whoever asks again wants to know what has become of it.
    assert await ahead.state(item) is not existing[item]
    await context.engine.relate(third, other, who=AGENT)
    assert len((await ahead.state(third)).linked) == 1
    assert len((await ahead.state(other)).linked) == 2
