"""The tag in use that another tag means."""

import pytest

from scrubjay.text.tags.matching import TagRelation, TagVocabulary, best_match, relate_tags
from scrubjay.text.tags.spelling import TAG_WORDS


@pytest.mark.parametrize(
    ("tag", "existing", "relation"),
    [
        ("bugs", "bug", TagRelation.SAME),
        ("review-code", "code-review", TagRelation.ORDER),
        ("db-design", "database-design", TagRelation.FULL),
        ("ioc", "inversion-of-control", TagRelation.ACRONYM),
        ("user-acceptance-test", "uat", TagRelation.ACRONYM),
        ("laravel-5.3", "laravel-5", TagRelation.VERSION),
        ("laravel-5.3", "laravel", TagRelation.VERSION),
        ("spring-framework", "spring", TagRelation.PLAIN),
        ("sorted", "sorting", TagRelation.FORM),
        ("terrafrom", "terraform", TagRelation.SLIP),
        ("authentification", "authentication", TagRelation.SLIPS),
        ("wordpress-widget", "wordpress", TagRelation.DETAIL),
        ("matlab-compiler", "matlab", TagRelation.SPECIAL),
        ("pgvector", "postgres-pgvector", TagRelation.NAME),
    ],
)
def test_two_spellings_are_related(tag: str, existing: str, relation: TagRelation) -> None:
    assert relate_tags(tag, existing) is relation


@pytest.mark.parametrize(
    ("tag", "existing"),
    [
        *(sorted(pair) for pair in TAG_WORDS.pairs("distinct")),
        ("python-2", "python-3"),
        ("python", "python-3"),
        ("ticket-17", "ticket-71"),
        ("file-upload", "file-download"),
        ("type", "known-type"),
        ("kubernetes", "kubernetes-helm"),
        ("stock", "stack"),
        ("windows", "window"),
        ("pandas", "panda"),
        ("sarah", "sara"),
        ("tea", "coffee"),
    ],
)
def test_distinct_things_are_unrelated(tag: str, existing: str) -> None:
    assert relate_tags(tag, existing) is None
    assert best_match(tag, [existing], cosines={existing: 0.99}) is None


def test_an_equal_tag_is_replaced_and_a_more_exact_one_stays() -> None:
    same = best_match("Bugs", ["bug", "bugfix"])
    assert same is not None
    assert (same.tag, same.replaces) == ("bug", True)
    version = best_match("python-3.12", ["python", "python-2", "pythonista"])
    assert version is not None
    assert (version.tag, version.replaces) == ("python", False)


def test_the_most_exact_version_is_meant() -> None:
    match = best_match("symfony-4.2.1", ["symfony", "symfony-4", "symfony-4.2", "symfony-2"])
    assert match is not None
    assert match.tag == "symfony-4.2"


def test_meaning_decides_where_spelling_does_not() -> None:
    assert best_match("matlab-compiler", ["matlab"]) is None
    assert best_match("matlab-compiler", ["matlab"], cosines={"matlab": 0.5}) is None
    match = best_match("matlab-compiler", ["matlab"], cosines={"matlab": 0.86})
    assert match is not None
    assert (match.tag, match.similarity, match.replaces) == ("matlab", 0.86, False)


@pytest.mark.parametrize(("tag", "existing", "cosine"), [("marketing", "market", 0.74), ("design", "designer", 0.68)])
def test_a_derived_word_may_be_another_word(tag: str, existing: str, cosine: float) -> None:
    assert relate_tags(tag, existing) is TagRelation.FORM
    assert best_match(tag, [existing], cosines={existing: cosine}) is None


def test_a_much_closer_tag_makes_a_match_doubtful() -> None:
    near = {"matlab": 0.8, "octave": 0.9}
    assert best_match("matlab-compiler", ["matlab", "octave"], cosines=near) is None


def test_initials_of_two_things_mean_neither() -> None:
    both = ["server-sent-events", "sql-server-express"]
    assert best_match("sse", both, cosines=dict.fromkeys(both, 0.3)) is None
    assert best_match("sse", both[:1], cosines={both[0]: 0.1}) is not None


def test_a_vocabulary_finds_the_tags_with_most_in_common() -> None:
    tags = ["css", "css-grid", "inversion-of-control", "uat", "apache-airflow", "docker", "docker-compose"]
    vocabulary = TagVocabulary(tags)
    assert vocabulary.nearest("airflow", limit=2)[0] == "apache-airflow"
    assert vocabulary.nearest("ioc", limit=2)[0] == "inversion-of-control"
    assert vocabulary.nearest("user-acceptance-testing", limit=1)[0] == "uat"
    assert set(vocabulary.nearest("css-centering", limit=2)) >= {"css"}
    assert "docker" not in vocabulary.nearest("docker", limit=5)
    assert vocabulary.nearest("zzz", limit=5) == []


def test_a_vocabulary_follows_the_tags_in_use() -> None:
    vocabulary = TagVocabulary(["docker", "inversion-of-control"])
    vocabulary.follow(["docker", "kafka"])
    assert len(vocabulary) == 2
    assert "kafka" in vocabulary
    assert "inversion-of-control" not in vocabulary
    assert vocabulary.nearest("ioc", limit=3) == []
    assert vocabulary.nearest("kafkas", limit=1) == ["kafka"]
