"""Memories as notes and notes as edits; and what file and store have each made of one."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as some
from tests.fakes.build import a_memory, moment

from scrubjay.model.memory import Memory, Method, Observation, Source
from scrubjay.notes.markdown.format import parse, render
from scrubjay.notes.markdown.note import Link, Note
from scrubjay.notes.sync.mapping import Linked, completed, dressed, edit_of, joined, sheet_of

NOW = moment(1000)
TEXT = some.lists(some.sampled_from(["alpha", "beta", "gamma", "delta"]), max_size=4).map("\n\n".join)
NOTES = some.builds(
    Note,
    title=some.sampled_from(["One", "Two", " One "]),
    tags=some.lists(some.sampled_from(["a", "#A", "b", "C"]), unique=True, max_size=3).map(tuple),
    category=some.sampled_from(["", "work", "home"]),
    kind=some.sampled_from(["", "plan"]),
    pinned=some.booleans(),
    content=TEXT,
    observations=some.lists(some.sampled_from(["x", "y", "z"]), unique=True, max_size=3).map(tuple),
    extra=some.sampled_from(["", "colour: blue\n", "colour: red\n"]),
)


def fruit(**fields: object) -> Memory:
    said = (
        Observation(text="round", recorded_at=moment(1)),
        Observation(text="old", recorded_at=moment(1), valid_until=moment(2)),
    )
    return replace(a_memory("Apples.", title="Fruit", tags=("a", "b"), observations=said), **fields)


def test_a_memory_is_told_as_a_note() -> None:
    memory = fruit(kind="decision", category="food", metadata={"frontmatter": "colour: red\n"})
    linked = [Linked(id="1", target="one", text="One"), Linked(id="2", target="two", text="Two")]
    note = sheet_of(memory, linked, now=NOW, unlisted={"1"})
    assert (note.id, note.title, note.kind, note.extra) == (memory.id, "Fruit", "decision", "colour: red\n")
    # What no longer holds stays in the store alone; what the text itself links is in no section.
    assert (note.observations, note.links) == (("round",), ("1", "2"))
    assert note.linked == (Link(target="two", text="Two"),)
    assert parse(render(note)).note == note
    older = replace(memory, source=Source(method=Method.FILE, at=moment(-5000)))
    assert sheet_of(older, now=NOW).created_at == moment(-5000)


@given(NOTES)
def test_what_a_file_says_is_what_the_edit_makes_of_the_memory(note: Note) -> None:
    memory = fruit()
    told = sheet_of(memory, now=NOW)
    edit = edit_of(memory, told, note, message="")
    if edit is None:
        assert (note.content, set(note.observations)) == (told.content, set(told.observations))
        return
    assert edit.expected_version == memory.version
    assert ("content" in edit.fields) == (note.content != told.content)
    assert {*told.observations} - {*edit.remove_observations} | {*edit.add_observations} == {*note.observations}


@given(NOTES, NOTES)
def test_what_one_side_alone_has_changed_is_taken(base: Note, other: Note) -> None:
    for ours, theirs in ((base, other), (other, base), (other, other)):
        merged, clashes = joined(base, ours, theirs)
        assert clashes == ()
        assert (merged.content, merged.pinned, merged.extra) == (other.content, other.pinned, other.extra)
        assert merged.title.split() == other.title.split()
        assert {tag.lstrip("#").lower() for tag in merged.tags} == {tag.lstrip("#").lower() for tag in other.tags}
        assert {*merged.observations} == {*other.observations}


@given(NOTES, NOTES, NOTES)
def test_nothing_that_both_have_said_anew_is_lost_without_a_clash(base: Note, ours: Note, theirs: Note) -> None:
    merged, clashes = joined(base, ours, theirs)
    assert {*ours.observations, *theirs.observations} - {*base.observations} <= {*merged.observations}
    if "content" not in clashes:
        new = {*ours.content.split(), *theirs.content.split()} - {*base.content.split()}
        assert new <= {*merged.content.split()}


def test_what_the_store_makes_of_labels_is_shown_and_words_stay_as_they_are() -> None:
    note = Note(title=" Fruit ", tags=("#A",), content="my words", observations=("one",))
    told = Note(id="1", title="Fruit", tags=("a", "suggested"), content="my [REDACTED]", links=("2",))
    done = dressed(note, told)
    assert (done.title, done.tags, done.content) == (" Fruit ", ("a", "suggested"), "my words")
    assert (done.id, done.links, done.observations) == ("1", ("2",), ("one",))


def test_a_file_without_frontmatter_takes_nothing_out() -> None:
    told = sheet_of(fruit(category="food", pinned=True), now=NOW)
    bare = completed(parse(b"Pears.\n"), told)
    assert (bare.title, bare.tags, bare.category, bare.pinned) == ("Fruit", ("a", "b"), "food", True)
    headed = completed(parse(f"---\nid: {told.id}\ntitle: Fruit\n---\n\nPears.\n".encode()), told)
    assert (headed.tags, headed.category, headed.pinned) == ((), "", False)
    # What cannot be read was not taken out.
    odd = completed(parse(f"---\nid: {told.id}\ntags: 5.5\npinned: maybe\n---\n\nPears.\n".encode()), told)
    assert (odd.pinned, odd.category) == (True, "food")
    # What is called so has no file of its own: nobody can make a note of that kind.
    assert completed(parse(f"---\nid: {told.id}\nkind: attachment\n---\n\nPears.\n".encode()), told).kind == ""
