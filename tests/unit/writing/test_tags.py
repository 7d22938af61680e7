"""Tags are normalised to those of the space."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.fakes import FakeEmbedder
from tests.fakes.build import a_commit, a_memory
from tests.new_files import NewStores

from scrubjay.model.draft import Draft
from scrubjay.model.rules import Rules
from scrubjay.ports import RecordStore
from scrubjay.storage.sqlite import SqliteStore
from scrubjay.text.tags.synonyms import Synonyms
from scrubjay.writing.tags import SpaceTags, normalise_tags, tag_cosines

SPACE = "default"
USED = ("ci_cd", "python", "invoice", "apache-airflow", "javascript", "ioc-container", "k8s", "colour", "oauth", "tea")


async def store_tags(store: RecordStore, *tags: str, text: str = "something worth keeping") -> None:
    await store.commit(a_commit(a_memory(text, tags=tags)))


async def normal(
    store: RecordStore,
    *tags: str,
    synonyms: Synonyms | None = None,
    rules: Rules | None = None,
    text: str = "x",
    title: str = "",
    embedder: FakeEmbedder | None = None,
    is_binding: bool = True,
) -> Draft:
    space_tags = SpaceTags(
        space=SPACE, synonyms=synonyms or Synonyms(), store=store, embedder=embedder or FakeEmbedder()
    )  # fmt: skip
    draft = Draft(text=text, title=title, tags=tags)
    return await normalise_tags(draft, rules=rules or Rules(), tags=space_tags, is_binding=is_binding)


async def test_a_variant_is_replaced_and_a_thing_of_its_own_stays(store: SqliteStore) -> None:
    draft = await normal(store, "auth-fix", "oauth", "cli")
    assert draft.tags == ("auth", "oauth", "cli")
    assert draft.suggested_tags == ()
    (decision,) = draft.trace
    assert (decision.stage, decision.outcome) == ("tags", "normalised")
    assert "auth-fix -> auth: a synonym" in decision.why


@pytest.mark.parametrize(
    ("tags", "normalised"),
    [
        (("oauth", "cli"), ("auth", "oauth", "cli")),
        (("cli", "auth", "oauth"), ("cli", "auth", "oauth")),
        (("requireauth", "authentication", "Auth Gateway"), ("auth",)),
        (("postgresql", "db"), ("database", "postgres")),
        (("unit-tests",), ("testing", "unit-tests")),
        (("CI/CD", "ci_cd"), ("deployment", "ci-cd")),
        (("databases",), ("database",)),
        (("golang", "go"), ("go",)),
        (("java", "javascript"), ("java", "javascript")),
        (("c", "c++", "c#", "objective-c"), ("c", "c++", "c#", "objective-c")),
        (("cpp", "c-sharp"), ("c++", "c#")),
        (("客户", "user:7", "протокол"), ("客户", "user:7", "протокол")),
        (("bug", "bugs"), ("bug",)),
        ((), ()),
    ],
)
async def test_tags_of_a_new_space(tags: tuple[str, ...], normalised: tuple[str, ...], store: SqliteStore) -> None:
    assert (await normal(store, *tags)).tags == normalised


@pytest.mark.parametrize(
    ("tags", "normalised"),
    [
        (("CI CD",), ("deployment", "ci-cd")),
        (("invoices",), ("invoice",)),
        (("js",), ("javascript",)),
        (("kubernetes",), ("k8s",)),
        (("color",), ("colour",)),
        (("python-3.12",), ("python", "python-3.12")),
        (("oauths",), ("auth", "oauths")),
        (("java", "script"), ("java", "script")),
        (("coffee",), ("coffee",)),
    ],
)
async def test_tags_become_those_that_the_space_has(
    tags: tuple[str, ...], normalised: tuple[str, ...], store: SqliteStore
) -> None:
    await store_tags(store, *USED)
    assert (await normal(store, *tags)).tags == normalised


async def test_a_tag_that_is_known_costs_no_vector(store: SqliteStore) -> None:
    embedder = FakeEmbedder()
    await store_tags(store, *USED)
    draft = await normal(store, "tea", "python", "invoice", embedder=embedder)
    assert draft.tags == ("tea", "python", "invoice")
    assert draft.trace[0].outcome == "kept"
    assert embedder.embedded == []


async def test_vectors_of_tags_are_made_once_and_not_many(store: SqliteStore) -> None:
    await store_tags(store, *(f"matlab-part{chr(97 + at)}" for at in range(26)))
    embedder = FakeEmbedder(model="counted")
    await normal(store, "matlab-compiler", embedder=embedder)
    first = len(embedder.embedded)
    assert 0 < first <= 10
    await normal(store, "matlab-compiler", embedder=embedder)
    assert len(embedder.embedded) == first


async def test_meaning_finds_the_more_general_tag_and_keeps_the_given_one(store: SqliteStore) -> None:
    await store_tags(store, "matlab")
    embedder = FakeEmbedder(model="near", dimension=64)
    draft = await normal(store, "matlab-code", embedder=embedder)
    # Half of its words: the fake finds it near enough for a word that says little.
    assert draft.tags == ("matlab", "matlab-code")
    assert "a detail of it: matlab (0.71)" in draft.trace[0].why


async def test_a_large_vocabulary_is_taken_in_at_once_and_followed(store: SqliteStore) -> None:
    await store_tags(store, *(f"topic{a}{b}" for a in "abcdefghijklmnopqrst" for b in "abcdefghijklmnopqrst"))
    assert (await normal(store, "topicaas")).tags == ("topicaa",)
    await store.commit(a_commit(a_memory(tags=("invoice",))))
    assert (await normal(store, "invoices")).tags == ("invoice",)


async def test_the_caches_of_spaces_and_vectors_are_bounded(store: SqliteStore) -> None:
    for number in range(40):
        await store.commit(a_commit(a_memory(tags=("invoice",), space=f"s{number}"), space=f"s{number}"))
        tags = SpaceTags(space=f"s{number}", synonyms=Synonyms(), store=store, embedder=FakeEmbedder())
        draft = await normalise_tags(Draft(text="x", tags=("invoices",)), rules=Rules(), tags=tags)
        assert draft.tags == ("invoice",)
    many = [f"tag {number}" for number in range(5_000)]
    near = await tag_cosines("tag 1", many, embedder=FakeEmbedder(model="small", dimension=2))
    assert near is not None
    assert near["tag 1"] == pytest.approx(1.0)


async def test_without_a_model_only_spelling_counts(store: SqliteStore) -> None:
    await store_tags(store, "matlab", "invoice")
    draft = await normal(store, "matlab-code", "invoices", embedder=FakeEmbedder(failing=True))
    assert draft.tags == ("matlab-code", "invoice")


async def test_there_are_no_more_tags_than_the_rules_allow(store: SqliteStore) -> None:
    many = tuple(f"{letter}{letter}{letter}x" for letter in "abcdefghijkl")
    draft = await normal(store, *many)
    assert draft.tags == many[:8]
    assert "jjjx" in draft.warnings[0]
    assert (await normal(store, *many, rules=Rules(most_tags=64))).tags == many


async def test_the_rules_may_leave_tags_alone(store: SqliteStore) -> None:
    draft = await normal(store, "auth-fix", "DB", rules=Rules(tags="off"), text="kubernetes kubernetes")
    assert draft == Draft(text="kubernetes kubernetes", tags=("auth-fix", "DB"))


async def test_tags_that_are_not_binding_are_only_reported(store: SqliteStore) -> None:
    draft = await normal(store, "auth-fix", is_binding=False)
    assert (draft.tags, draft.suggested_tags) == (("auth-fix",), ())
    assert "auth-fix -> auth" in draft.warnings[0]
    assert draft.trace[0].outcome == "reported"
    assert (await normal(store, "tea", is_binding=False)).warnings == ()


async def test_a_space_has_synonyms_of_its_own_and_they_win(store: SqliteStore) -> None:
    own = Synonyms(own={"login": ("auth", "sign-in"), "js": ("javascript",), "db": ("database",)}, off=("test",))
    draft = await normal(store, "sign in", "auth-fix", "oauth", "javascript", "database", "test", synonyms=own)
    assert draft.tags == ("login", "oauth", "js", "db", "test")


SUGGESTED_TEXT = (
    "The OAuth token was refreshed too late, and pgvector lost its rows. pgvector was built anew, and the kiln too."
)


async def test_too_few_tags_are_joined_by_suggestions_from_the_text(store: SqliteStore) -> None:
    await store_tags(store, "pgvector", "kiln", "wool")
    draft = await normal(store, "cli", text=SUGGESTED_TEXT)
    assert draft.tags == ("cli",)
    assert draft.suggested_tags == ("database", "pgvector")
    assert draft.trace[0].outcome == "kept, 2 suggested"
    assert "-> pgvector: a tag of this space that the text mentions" in draft.trace[0].why


async def test_enough_tags_need_no_others(store: SqliteStore) -> None:
    assert (await normal(store, "cli", "kiln", "wool", text=SUGGESTED_TEXT)).suggested_tags == ()
    assert (await normal(store, "cli", text=SUGGESTED_TEXT, rules=Rules(least_tags=0))).suggested_tags == ()


async def test_names_are_suggested_and_plain_words_are_not(store: SqliteStore) -> None:
    assert (await normal(store, text="kubectl failed, so kubectl was run again")).suggested_tags == ("kubectl",)
    draft = await normal(store, text="Sarah prefers tea. Sarah likes it green, as tea should be.")
    assert draft.suggested_tags == ("sarah",)
    assert (await normal(store, text="the tea was green, as tea should be")).suggested_tags == ()
    assert (await normal(store, text="x")).suggested_tags == ()


async def test_a_word_of_every_text_suggests_nothing(store: SqliteStore, new_store: NewStores) -> None:
    memories = [a_memory(f"invoicing is number {at}", tags=("invoicing",)) for at in range(60)]
    await store.commit(a_commit(*memories))
    assert (await normal(store, text="invoicing again", title="invoicing")).suggested_tags == ()
    few = new_store()
    await store_tags(few, "invoicing", text="invoicing")
    assert (await normal(few, text="invoicing again", title="invoicing")).suggested_tags == ("invoicing",)


_WORDS = st.sampled_from(
    [*USED, "js", "CI/CD", "databases", "oauth2", "OAuth", "python3", "auth-fix", "test", "Release", "release-notes",
     "postgresql", "pgsql", "sql", "airflow", "ioc", "invoicing", "tea-time", "teas", "k8s-operator", "客户", "c++",
     "C", "unit test", "e2e", "golang", "color", "colours", "python-3.1", "inversion-of-control", "login", "a:b"]
)  # fmt: skip
_OWN = Synonyms(own={"login": ("sign-in", "logon"), "oauth": ("open-auth",), "tea": ("chai",)}, off=("db", "golang"))


@given(
    tags=st.lists(_WORDS | st.text(alphabet="abC-_ /.+#é1", min_size=1, max_size=8), max_size=12),
    own=st.sampled_from([Synonyms(), _OWN]),
)
@settings(
    max_examples=120, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
)
async def test_normalising_twice_changes_nothing(tags: list[str], own: Synonyms, store: SqliteStore) -> None:
    if not await store.last_seq():
        await store_tags(store, *USED)
    once = await normal(store, *tags, synonyms=own, text=SUGGESTED_TEXT)
    twice = await normal(store, *once.tags, synonyms=own, text=SUGGESTED_TEXT)
    assert twice.tags == once.tags
    assert len(once.tags) <= 8
    added = await normal(store, *once.tags, *once.suggested_tags, synonyms=own)
    assert added.tags == (*once.tags, *once.suggested_tags)
