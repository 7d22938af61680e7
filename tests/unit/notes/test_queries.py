"""Queries over notes: search by words and meaning, categories, reviews, backlinks and broken links."""

from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest
from tests.fakes import FakeClock, FakeEmbedder
from tests.fakes.build import START, a_commit, a_memory

from scrubjay.app.indexes import make_index
from scrubjay.engine import Engine
from scrubjay.errors import NotFound
from scrubjay.model.caller import Caller
from scrubjay.model.memory import Memory, State
from scrubjay.model.query import Filter
from scrubjay.model.relation import Relation
from scrubjay.model.requests import Edit, ForgetRequest, RecallRequest, RestoreRequest, SearchNotesRequest
from scrubjay.notes.markdown.note import Link
from scrubjay.notes.queries.links import find_backlinks, find_broken_links
from scrubjay.notes.queries.search import CategoryNode, category_tree, find_due_notes, find_notes, mark_reviewed
from scrubjay.ports import Edge
from scrubjay.recalling.access_log import AccessLog
from scrubjay.recalling.text_cache import TextCaches
from scrubjay.settings import Settings
from scrubjay.storage.sqlite import SqliteStore

SPACE = "default"
WHO = Caller()
DAY = timedelta(days=1)


@pytest.fixture
async def engine(tmp_path: Path, store: SqliteStore) -> AsyncIterator[Engine]:
    embedder, clock = FakeEmbedder(), FakeClock(START + 100 * DAY, step=timedelta(0))
    settings = Settings(home=str(tmp_path), vector_index="scan")
    made = Engine(
        _store=store, embedder=embedder, index=make_index(settings, store, embedder), clock=clock,
        limits=settings.limits, access_log=AccessLog(store, clock=clock), data=tmp_path,
    )  # fmt: skip
    yield made
    await made.close()


def a_note(name: str, content: str = "Some text.", **fields: object) -> Memory:
    return a_memory(content, name=name, **{"title": name.title(), **fields})  # type: ignore[arg-type]


async def keep(engine: Engine, store: SqliteStore, *notes: Memory) -> None:
    await store.commit(a_commit(*notes))
    await engine.backfill()


# ---- search ----


async def test_notes_are_found_by_words_with_the_matching_fields(engine: Engine, store: SqliteStore) -> None:
    here = a_note("plan", "The otter plan is ready.", category="work/rivers", tags=("otters",))
    await keep(engine, store, here, a_note("other", "Nothing about the plan.", category="home"))
    results = await find_notes(
        SearchNotesRequest(query="otter plan", category="work", tags=("otters",)), engine=engine, who=WHO
    )
    (hit,) = results.results
    assert (hit.id, hit.title, hit.category, hit.tags) == (here.id, "Plan", "work/rivers", ("otters",))
    assert hit.snippet == "The **otter** **plan** is ready."
    assert hit.matched == ("title", "tags", "content")
    assert not results.more
    assert (await find_notes(SearchNotesRequest(query="plan", limit=1), engine=engine, who=WHO)).more
    assert (
        len((await find_notes(SearchNotesRequest(query="plan", limit=1), engine=engine, who=WHO, offset=1)).results)
        == 1
    )


async def test_hits_by_meaning_are_marked_and_come_after_words(engine: Engine, store: SqliteStore) -> None:
    # The embedder of the tests makes texts with common words similar.
    words, other = a_note("words", "jay and nest"), a_note("other", "a jay alone")
    refused = a_note("refused", "a jay with salt")
    attached = a_note("scan", "the nest of a jay", kind="attachment")
    await keep(engine, store, words, other, refused, attached)
    plain = await find_notes(SearchNotesRequest(query="jay nest -salt"), engine=engine, who=WHO)
    assert {hit.title: hit.matched for hit in plain.results} == {"Words": ("content",), "Scan": ("attachment",)}
    results = await find_notes(SearchNotesRequest(query="jay nest -salt", semantic=True), engine=engine, who=WHO)
    matched = {hit.title: hit.matched for hit in results.results}
    assert matched == {
        "Words": ("content", "meaning"), "Scan": ("attachment", "meaning"), "Other": ("meaning",),
    }  # fmt: skip
    scores = [hit.score for hit in results.results]
    assert scores == sorted(scores, reverse=True)
    assert all(0 <= score <= 1 for score in scores)
    request = SearchNotesRequest(query="jay nest", semantic=True, limit=1)
    pages = [await find_notes(request, engine=engine, who=WHO, offset=offset) for offset in range(4)]
    assert len({page.results[0].id for page in pages}) == 4
    assert [page.more for page in pages] == [True, True, True, False]
    assert len((await find_notes(SearchNotesRequest(query="*", semantic=True), engine=engine, who=WHO)).results) == 4


# ---- categories ----


async def test_categories_are_a_tree_with_counts(engine: Engine, store: SqliteStore) -> None:
    categories = ("work", "Work/Meetings", "work/meetings/weekly", "work/plans", "", "home", "a/b/c")
    await keep(engine, store, *(a_note(f"n{number}", category=category) for number, category in enumerate(categories)))
    await keep(engine, store, a_note("gone", category="trash", state=State.TRASHED))
    tree = await category_tree(engine=engine, space=SPACE)
    assert [(node.path, node.notes, node.total) for node in tree] == [("a", 0, 1), ("home", 1, 1), ("work", 1, 4)]
    work = tree[-1]
    weekly = CategoryNode(path="work/meetings/weekly", name="weekly", notes=1, total=1)
    assert work.children == (
        CategoryNode(path="work/meetings", name="meetings", notes=1, total=2, children=(weekly,)),
        CategoryNode(path="work/plans", name="plans", notes=1, total=1),
    )
    assert await category_tree(engine=engine, space="nowhere") == ()


async def test_a_very_deep_category_is_a_tree_too(engine: Engine, store: SqliteStore) -> None:
    await keep(engine, store, a_note("deep", category="/".join("x" * 40)))
    (top,) = await category_tree(engine=engine, space=SPACE)
    depth = 0
    while top.children:
        (top,), depth = top.children, depth + 1
    assert (depth, top.notes, top.total) == (39, 1, 1)


async def test_a_category_filter_finds_subcategories_and_a_change_concerns_the_category_alone(
    engine: Engine, store: SqliteStore
) -> None:
    above, below = a_note("above", "otters", category="Work"), a_note("below", "otters", category="work/meetings")
    await keep(engine, store, above, below, a_note("workshop", "otters", category="workshop"))
    for query in ("otters", ""):
        results = await engine.recall(RecallRequest(query=query, filter=Filter(category="work")), who=WHO)
        assert {hit.id for hit in results.hits} == {above.id, below.id}
    assert set(await engine.reader.list_ids(SPACE, Filter(category="WORK "), limit=9)) == {above.id, below.id}
    done = await engine.forget(ForgetRequest(filter=Filter(category="work")), who=WHO)
    assert [outcome.id for outcome in done.done] == [above.id]
    assert await engine.reader.list_ids(SPACE, Filter(category="work"), limit=9) == [below.id]
    back = await engine.restore(RestoreRequest(filter=Filter(category="Work/")), who=WHO)
    assert [outcome.id for outcome in back.done] == [above.id]


# ---- review ----


async def test_notes_without_a_recent_review_are_due(engine: Engine, store: SqliteStore) -> None:
    old = a_note("old", category="work/plans", created_at=START)
    seen = a_note("seen", last_reviewed=START + 40 * DAY)
    fresh = a_note("fresh", created_at=START + 95 * DAY, updated_at=START + 95 * DAY)
    ancient = a_note("ancient", created_at=START - 30_000 * DAY)
    expired = a_note("expired", expires_at=START + DAY)
    picture = a_note("picture", kind="attachment")
    await keep(engine, store, seen, old, fresh, ancient, expired, picture)
    results = await find_due_notes(engine=engine, space=SPACE, days=30)
    assert [note.title for note in results.notes] == ["Ancient", "Old", "Seen"]
    assert [note.days for note in results.notes] == [30_100, 100, 60]
    assert [note.title for note in (await find_due_notes(engine=engine, space=SPACE, days=0)).notes][-1] == "Fresh"
    assert [note.title for note in (await find_due_notes(engine=engine, space=SPACE, days=1, limit=2)).notes] == [
        "Ancient",
        "Old",
    ]
    assert [
        note.title for note in (await find_due_notes(engine=engine, space=SPACE, days=1, category="Work")).notes
    ] == ["Old"]
    assert (await find_due_notes(engine=engine, space=SPACE, days=40_000)).notes == ()


async def test_a_review_is_recorded_and_embeds_nothing(engine: Engine, store: SqliteStore) -> None:
    note = a_note("old", "Long ago.")
    await keep(engine, store, note)
    assert isinstance(engine.embedder, FakeEmbedder)
    engine.embedder.embedded.clear()
    assert len((await find_due_notes(engine=engine, space=SPACE)).notes) == 1
    done = await mark_reviewed("Old", engine=engine, who=WHO)
    assert (done.id, done.action, done.version) == (note.id, "updated", 2)
    memory = (await engine.reader.get(SPACE, [note.id]))[note.id]
    assert memory.last_reviewed == engine.clock.now()
    assert memory.content == note.content
    assert engine.embedder.embedded == []
    assert (await find_due_notes(engine=engine, space=SPACE)).notes == ()
    await engine.apply_edit("Old", Edit(fields={"last_reviewed": ""}), who=WHO)
    assert len((await find_due_notes(engine=engine, space=SPACE)).notes) == 1
    with pytest.raises(NotFound):
        await mark_reviewed("missing", engine=engine, who=WHO)


# ---- links ----


async def test_backlinks_have_their_text_and_place(engine: Engine, store: SqliteStore) -> None:
    target = a_note("target", metadata={"aliases": ["The Goal"]})
    mentioning = a_note("mentioning", f"First. See [[target|the target]] and [[x-target-{target.id}]]. Last.")
    by_file = a_note("by file", "In [[Folder/My Target.md#Part]] it is.")
    by_alias = a_note("by alias", "`[[not]]` but ![[the goal]]")
    related, linked, unlinked = a_note("related"), a_note("linked"), a_note("unlinked", "`[[target]]` in code")
    gone = a_note("gone", "[[target]]", state=State.TRASHED)
    await keep(engine, store, target, mentioning, by_file, by_alias, related, linked, unlinked, gone)
    relations = [
        Relation(source=related.id, target=target.id, type="depends_on", text="needs it", created_at=START),
        Relation(source=target.id, target=linked.id, text="from here", created_at=START),
        Relation(source=target.id, target=unlinked.id, type="depends_on", created_at=START),
    ]
    await store.commit(a_commit(*(Edge(relation=relation, present=True) for relation in relations)))
    results = await find_backlinks("Target", engine=engine, space=SPACE, names=("Folder/My Target",))
    details = {backlink.title: (backlink.text, backlink.snippet) for backlink in results.backlinks}
    assert details == {
        "By Alias": ("the goal", "`[[not]]` but **![[the goal]]**"),
        "By File": ("Folder/My Target.md", "In **[[Folder/My Target.md#Part]]** it is."),
        "Linked": ("", ""),
        "Mentioning": ("the target", f"First. See **[[target|the target]]** and [[x-target-{target.id}]]. Last."),
        "Related": ("needs it", ""),
    }
    assert [backlink.title for backlink in results.backlinks] == sorted(details)
    assert [backlink.title for backlink in (await find_backlinks("linked", engine=engine, space=SPACE)).backlinks] == [
        "Target"
    ]


async def test_a_note_is_linked_by_its_category_and_title_too(engine: Engine, store: SqliteStore) -> None:
    target = a_note("target", category="work/plans")
    linking = a_note("linking", "[[Work/Plans/Target]] and [[plans/Target]], but no [[work/Target]]")
    await keep(engine, store, target, linking)
    assert [backlink.title for backlink in (await find_backlinks("target", engine=engine, space=SPACE)).backlinks] == [
        "Linking"
    ]
    assert [link.target for link in (await find_broken_links(engine=engine, space=SPACE)).links] == ["work/Target"]


@pytest.mark.parametrize("max_bytes", [128_000_000, 1])
async def test_broken_links_come_with_suggestions(engine: Engine, store: SqliteStore, max_bytes: int) -> None:
    object.__setattr__(engine, "text_caches", TextCaches(max_bytes=max_bytes))
    target = a_note("target")
    fine = a_note("fine", f"[[Target]] [[TARGET#x]] [[a-{target.id}]] [[#here]] [[files/known.md]] `[[code]]`")
    broken = a_note("broken", "[[Tarqet|that one]] [[gone]] ![[picture.png]] ![[lost.png]] [[tarqet]]")
    gone = a_note("gone", state=State.TRASHED)
    await keep(engine, store, target, fine, broken, gone)
    file_names = ["files/known", "picture.png"]
    missing_links = [
        (target.id, Link(target="Future Note", text="soon")),
        (target.id, Link(target="fine")),
        (gone.id, Link(target="x")),
    ]
    results = await find_broken_links(engine=engine, space=SPACE, missing_links=missing_links, file_names=file_names)
    assert {(link.title, link.target, link.text) for link in results.links} == {
        ("Broken", "Tarqet", "that one"), ("Broken", "gone", ""), ("Broken", "lost.png", ""),
        ("Target", "Future Note", "soon"),
    }  # fmt: skip
    assert next(link for link in results.links if link.target == "Tarqet").suggestions == ("target",)
    assert (
        len(
            (
                await find_broken_links(
                    engine=engine, space=SPACE, missing_links=missing_links, file_names=file_names, limit=2
                )
            ).links
        )
        == 2
    )
    # Without a folder, the existing files are unknown.
    alone = await find_broken_links(engine=engine, space=SPACE)
    assert {link.target for link in alone.links} == {"Tarqet", "gone", "files/known.md"}
