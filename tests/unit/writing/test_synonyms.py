"""The synonyms of tags in a space."""

import asyncio

import pytest
from tests.fakes import FakeEmbedder
from tests.fakes.build import START, a_commit, a_document, a_memory
from tests.new_files import NewStores

from scrubjay.errors import InvalidInput, StaleVersion, TooLarge
from scrubjay.model.document import Document
from scrubjay.model.rules import Rules
from scrubjay.model.tags import TagSynonyms, TagTable
from scrubjay.storage.sqlite import SqliteStore
from scrubjay.text.tags.synonyms import Synonyms, synonyms_from
from scrubjay.writing.synonyms import add, load, preview, remove, table

SPACE = "default"


async def added(store: SqliteStore, tag: str, *variants: str) -> TagTable:
    return await add(tag, variants, space=SPACE, store=store, now=START)


async def removed(store: SqliteStore, *variants: str) -> TagTable:
    return await remove(variants, space=SPACE, store=store, now=START)


async def test_tags_are_listed_with_their_counts_and_synonyms(store: SqliteStore) -> None:
    await store.commit(a_commit(a_memory(tags=("tea", "kiln")), a_memory(tags=("tea",))))
    tags = await table(SPACE, store=store, limit=1)
    assert [(tag.tag, tag.memories) for tag in tags.tags] == [("tea", 2)]
    assert tags.more
    assert not (await table(SPACE, store=store, limit=2)).more
    assert tags.synonyms == ()
    assert TagSynonyms(tag="cli", variants=("lanonasis-cli", "cli-fix")) in tags.built_in
    assert next(synonyms for synonyms in tags.built_in if synonyms.tag == "auth").named == ("oauth",)
    with pytest.raises(InvalidInput):
        await table(SPACE, store=store, limit=0)


async def test_synonyms_are_added_in_one_spelling_and_removed(store: SqliteStore) -> None:
    changed = await added(store, "Payment", "Payments Fix", "paying", "paying")
    assert changed.synonyms == (TagSynonyms(tag="payment", variants=("payments-fix", "paying")),)
    assert (await added(store, "payments", "pay")).synonyms[0].variants == ("payments-fix", "paying", "pay")
    assert (await removed(store, "PAYING", "pay")).synonyms[0].variants == ("payments-fix",)
    assert (await removed(store, "payments-fix")).synonyms == ()
    assert await load("elsewhere", store=store) == Synonyms()


async def test_a_variant_that_is_added_elsewhere_moves(store: SqliteStore) -> None:
    await added(store, "payment", "paying", "invoice")
    changed = await added(store, "billing", "invoice")
    assert [(synonym.tag, synonym.variants) for synonym in changed.synonyms] == [
        ("billing", ("invoice",)),
        ("payment", ("paying",)),
    ]


async def test_built_in_synonyms_can_be_switched_off_and_on(store: SqliteStore) -> None:
    assert (await removed(store, "DB", "golang")).off == ("db", "golang")
    assert (await removed(store, "db")).off == ("db", "golang")
    tags = await preview(["db", "golang"], text="", space=SPACE, rules=Rules(), store=store, embedder=FakeEmbedder())
    assert tags.after == ("db", "golang")
    changed = await added(store, "database", "db")
    assert (changed.off, changed.synonyms) == (("golang",), (TagSynonyms(tag="database", variants=("db",)),))


async def test_circles_and_chains_are_refused(store: SqliteStore) -> None:
    await added(store, "a1", "b1")
    for tag, variant in (("b1", "a1"), ("b1", "c1"), ("c1", "a1"), ("a1", "a1"), ("x", "X")):
        with pytest.raises(InvalidInput) as caught:
            await added(store, tag, variant)
        assert caught.value.fields["field"] in ("tag", "variants")
    assert (await load(SPACE, store=store)).own == {"a1": ("b1",)}


@pytest.mark.parametrize(
    ("tag", "variants"), [("", ["x"]), ("x", []), ("x", [" "]), ("x", ["y" * 301]), ("x", ["y\x00z"])]
)
async def test_an_invalid_synonym_is_refused(tag: str, variants: list[str], store: SqliteStore) -> None:
    with pytest.raises(InvalidInput):
        await add(tag, variants, space=SPACE, store=store, now=START)


async def test_a_missing_synonym_cannot_be_removed(store: SqliteStore) -> None:
    for wrong in (("nothing",), ()):
        with pytest.raises(InvalidInput):
            await removed(store, *wrong)


async def test_there_is_an_end_to_them() -> None:
    many = Synonyms(own={"x": tuple(f"v{at}w" for at in range(5_000))})
    with pytest.raises(TooLarge):
        many.add("x", ["one-more"])


async def test_concurrent_additions_lose_nothing(store: SqliteStore) -> None:
    await asyncio.gather(*(added(store, "tea", f"variant-{letter}") for letter in "abcd"))
    assert len((await load(SPACE, store=store)).own["tea"]) == 4


class OvertakenStore(SqliteStore):
    """A store in which another client is always faster."""

    async def put_document(self, document: Document, *, base: int | None) -> Document:
        raise StaleVersion("overtaken")


async def test_a_change_that_is_always_overtaken_fails_in_the_end(new_store: NewStores) -> None:
    with pytest.raises(StaleVersion):
        await added(new_store(OvertakenStore), "tea", "chai")


def test_a_paper_that_cannot_be_read_says_nothing() -> None:
    assert synonyms_from(None) == Synonyms()
    assert synonyms_from(a_document("tags", value={"synonyms": 7, "off": {}})) == Synonyms()
    odd = a_document("tags", value={"synonyms": {"a": ["b", 3], "c": [], "d": "e"}, "off": ["x", None]})
    assert synonyms_from(odd) == Synonyms(own={"a": ("b",)}, off=("x",))


async def test_a_preview_shows_the_normalised_tags_and_stores_nothing(store: SqliteStore) -> None:
    tags = await preview(
        ["#Auth-Fix", "oauth"], text="kubectl fails; kubectl again", space=SPACE, rules=Rules(), store=store,
        embedder=FakeEmbedder(),
    )  # fmt: skip
    assert tags.before == ("#Auth-Fix", "oauth")
    assert (tags.after, tags.suggested) == (("auth", "oauth"), ("kubectl",))
    assert [(reason.tag, reason.becomes) for reason in tags.why] == [
        ("auth-fix", ("auth",)), ("oauth", ("auth", "oauth")), ("kubectl", ("kubectl",)),
    ]  # fmt: skip
    assert await store.last_seq() == 0
    off = await preview(["DB"], text="", space=SPACE, rules=Rules(tags="off"), store=store, embedder=FakeEmbedder())
    assert off.after == ("db",)
    with pytest.raises(TooLarge):
        await preview(["x"] * 65, text="", space=SPACE, rules=Rules(), store=store, embedder=FakeEmbedder())
