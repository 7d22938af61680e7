"""Memories as notes, notes as edits, and the merge of a note that file and store have changed."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st
from tests.fakes.build import a_memory, moment

from scrubjay.model.memory import Memory, Method, Observation, Source
from scrubjay.notes.markdown.format import parse, render
from scrubjay.notes.markdown.note import Link, Note
from scrubjay.notes.sync.mapping import (
    LinkedNote,
    edit_between,
    merge_notes,
    note_from_page,
    note_of,
    with_stored_fields,
)

NOW = moment(1000)
TEXT = st.lists(st.sampled_from(["alpha", "beta", "gamma", "delta"]), max_size=4).map("\n\n".join)
NOTES = st.builds(
    Note,
    title=st.sampled_from(["One", "Two", " One "]),
    tags=st.lists(st.sampled_from(["a", "#A", "b", "C"]), unique=True, max_size=3).map(tuple),
    category=st.sampled_from(["", "work", "home"]),
    kind=st.sampled_from(["", "plan"]),
    pinned=st.booleans(),
    content=TEXT,
    observations=st.lists(st.sampled_from(["x", "y", "z"]), unique=True, max_size=3).map(tuple),
    extra=st.sampled_from(["", "colour: blue\n", "colour: red\n"]),
)


def fruit(**fields: object) -> Memory:
    observations = (
        Observation(text="round", recorded_at=moment(1)),
        Observation(text="old", recorded_at=moment(1), valid_until=moment(2)),
    )
    return replace(a_memory("Apples.", title="Fruit", tags=("a", "b"), observations=observations), **fields)


def test_a_memory_becomes_a_note() -> None:
    memory = fruit(kind="decision", category="food", metadata={"frontmatter": "colour: red\n"})
    linked = [LinkedNote(id="1", target="one", text="One"), LinkedNote(id="2", target="two", text="Two")]
    note = note_of(memory, linked, now=NOW, unlisted={"1"})
    assert (note.id, note.title, note.kind, note.extra) == (memory.id, "Fruit", "decision", "colour: red\n")
    # Expired observations stay in the store alone; links in the text are not listed again.
    assert (note.observations, note.links) == (("round",), ("1", "2"))
    assert note.linked == (Link(target="two", text="Two"),)
    assert parse(render(note)).note == note
    older = replace(memory, source=Source(method=Method.FILE, at=moment(-5000)))
    assert note_of(older, now=NOW).created_at == moment(-5000)


@given(NOTES)
def test_the_edit_turns_the_memory_into_the_note(note: Note) -> None:
    memory = fruit()
    stored = note_of(memory, now=NOW)
    edit = edit_between(memory, stored, note, message="")
    if edit is None:
        assert (note.content, set(note.observations)) == (stored.content, set(stored.observations))
        return
    assert edit.expected_version == memory.version
    assert ("content" in edit.fields) == (note.content != stored.content)
    assert {*stored.observations} - {*edit.remove_observations} | {*edit.add_observations} == {*note.observations}


@given(NOTES, NOTES)
def test_a_change_on_one_side_alone_is_merged(base: Note, other: Note) -> None:
    for ours, theirs in ((base, other), (other, base), (other, other)):
        merged, conflicts = merge_notes(base, ours, theirs)
        assert conflicts == ()
        assert (merged.content, merged.pinned, merged.extra) == (other.content, other.pinned, other.extra)
        assert merged.title.split() == other.title.split()
        assert {tag.lstrip("#").lower() for tag in merged.tags} == {tag.lstrip("#").lower() for tag in other.tags}
        assert {*merged.observations} == {*other.observations}


@given(NOTES, NOTES, NOTES)
def test_no_addition_is_lost_without_a_conflict(base: Note, ours: Note, theirs: Note) -> None:
    merged, conflicts = merge_notes(base, ours, theirs)
    assert {*ours.observations, *theirs.observations} - {*base.observations} <= {*merged.observations}
    if "content" not in conflicts:
        new = {*ours.content.split(), *theirs.content.split()} - {*base.content.split()}
        assert new <= {*merged.content.split()}


def test_stored_fields_replace_labels_and_leave_texts() -> None:
    note = Note(title=" Fruit ", tags=("#A",), content="my words", observations=("one",))
    stored = Note(id="1", title="Fruit", tags=("a", "suggested"), content="my [REDACTED]", links=("2",))
    merged = with_stored_fields(note, stored)
    assert (merged.title, merged.tags, merged.content) == (" Fruit ", ("a", "suggested"), "my words")
    assert (merged.id, merged.links, merged.observations) == ("1", ("2",), ("one",))


def test_a_file_without_frontmatter_removes_nothing() -> None:
    stored = note_of(fruit(category="food", pinned=True), now=NOW)
    bare = note_from_page(parse(b"Pears.\n"), stored)
    assert (bare.title, bare.tags, bare.category, bare.pinned) == ("Fruit", ("a", "b"), "food", True)
    headed = note_from_page(parse(f"---\nid: {stored.id}\ntitle: Fruit\n---\n\nPears.\n".encode()), stored)
    assert (headed.tags, headed.category, headed.pinned) == ((), "", False)
    # Unreadable fields were not removed on purpose.
    unreadable = note_from_page(
        parse(f"---\nid: {stored.id}\ntags: 5.5\npinned: maybe\n---\n\nPears.\n".encode()), stored
    )
    assert (unreadable.pinned, unreadable.category) == (True, "food")
    # A memory of that kind has no file of its own, so that no note can get it.
    assert note_from_page(parse(f"---\nid: {stored.id}\nkind: attachment\n---\n\nPears.\n".encode()), stored).kind == ""
