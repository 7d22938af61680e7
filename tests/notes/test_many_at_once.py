"""Many notes that link each other and change at the same time: what is asked for at once must not be stale."""

from scrubjay.notes.syncing.ahead import Ahead
from tests.notes.vaults import AGENT, Desk

MANY = 40


async def test_notes_that_are_renamed_together_name_each_other_rightly(desk: Desk) -> None:
    def said(number: int, word: str) -> str:
        return f"See [[{word} {(number + 1) % MANY}]] and [[{word} {number // 2 if number else 7}]]."

    ids = [await desk.write(said(number, "Note"), title=f"Note {number}") for number in range(MANY)]
    await desk.sync()
    assert await desk.vault.drift() == ()
    for number, one in enumerate(ids):
        await desk.edit(one, title=f"Name {number}", category="new" if number % 3 else "")
    # Once, as somebody who follows the store does it.
    await desk.vault.follow()
    for number, one in enumerate(ids):
        assert (await desk.get(one)).content == said(number, "Name")
        assert said(number, "Name") in (await desk.file(one)).read_text()
    assert await desk.vault.drift() == ()


async def test_notes_that_go_together_leave_no_link_behind(desk: Desk) -> None:
    ids = [await desk.write(f"Text {number}.", title=f"Note {number}") for number in range(MANY)]
    for one, other in zip(ids, [*ids[1:], ids[0]], strict=True):
        await desk.engine.relate(one, other, who=AGENT)
    await desk.sync()
    for one in ids[::2]:
        await desk.forget(one)
    await desk.vault.follow()
    assert len(desk.files()) == MANY // 2
    assert not [name for name in desk.files() if "[[" in (desk.root / name).read_text()]
    for one in ids[::2]:
        await desk.restore(one)
    await desk.vault.follow()
    assert all((desk.root / name).read_text().count("[[") == 2 for name in desk.files())
    assert await desk.vault.drift() == ()


async def test_where_a_note_stands_is_asked_anew_when_something_has_touched_it(desk: Desk) -> None:
    one, other, third = [await desk.write(f"{name}.", title=name) for name in ("One", "Two", "Three")]
    await desk.engine.relate(one, other, who=AGENT)
    await desk.sync()
    ahead = Ahead(desk.vault._hands)
    known = await ahead.look([one, other, third])
    assert await ahead.stance(third) is known[third]
    # Of two that are linked, the one shows what the other is called.
    await desk.edit(other, title="Second")
    assert (await ahead.stance(one)).linked[0].text == "Second"
    assert (await ahead.stance(other)).shown.title == "Second"
    known = await ahead.look([one, other, third])
    assert await ahead.stance(one) is known[one]
    # It is told once: whoever asks again wants to know what has become of it.
    assert await ahead.stance(one) is not known[one]
    await desk.engine.relate(third, other, who=AGENT)
    assert len((await ahead.stance(third)).linked) == 1
    assert len((await ahead.stance(other)).linked) == 2
