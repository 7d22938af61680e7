"""Which known tag another one means."""

import pytest

from scrubjay.text.tags.builtin import DISTINCT
from scrubjay.text.tags.matching import TagRelation, best_match, relate_tags
from scrubjay.text.tags.vocabulary import TagVocabulary


@pytest.mark.parametrize(
    ("tag", "known", "how"),
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
def test_what_two_spellings_have_to_do_with_each_other(tag: str, known: str, how: TagRelation) -> None:
    assert relate_tags(tag, known) is how


@pytest.mark.parametrize(
    ("tag", "known"),
    [
        *(sorted(pair) for pair in DISTINCT),
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
def test_distinct_things_have_nothing_to_do_with_each_other(tag: str, known: str) -> None:
    assert relate_tags(tag, known) is None
    assert best_match(tag, [known], cosines={known: 0.99}) is None


def test_what_says_all_of_it_is_replaced_and_what_says_more_stays() -> None:
    same = best_match("Bugs", ["bug", "bugfix"])
    assert same is not None
    assert (same.tag, same.replaces) == ("bug", True)
    version = best_match("python-3.12", ["python", "python-2", "pythonista"])
    assert version is not None
    assert (version.tag, version.replaces) == ("python", False)


def test_the_most_exact_version_is_meant() -> None:
    found = best_match("symfony-4.2.1", ["symfony", "symfony-4", "symfony-4.2", "symfony-2"])
    assert found is not None
    assert found.tag == "symfony-4.2"


def test_meaning_decides_where_spelling_does_not() -> None:
    assert best_match("matlab-compiler", ["matlab"]) is None
    assert best_match("matlab-compiler", ["matlab"], cosines={"matlab": 0.5}) is None
    found = best_match("matlab-compiler", ["matlab"], cosines={"matlab": 0.82})
    assert found is not None
    assert (found.tag, found.similarity, found.replaces) == ("matlab", 0.82, False)


@pytest.mark.parametrize(("tag", "known", "cosine"), [("marketing", "market", 0.74), ("design", "designer", 0.68)])
def test_a_word_may_be_another_than_that_it_is_made_from(tag: str, known: str, cosine: float) -> None:
    assert relate_tags(tag, known) is TagRelation.FORM
    assert best_match(tag, [known], cosines={known: cosine}) is None


def test_another_that_is_much_nearer_makes_it_doubtful() -> None:
    near = {"matlab": 0.8, "octave": 0.9}
    assert best_match("matlab-compiler", ["matlab", "octave"], cosines=near) is None


def test_initials_of_two_things_mean_neither() -> None:
    both = ["server-sent-events", "sql-server-express"]
    assert best_match("sse", both, cosines=dict.fromkeys(both, 0.3)) is None
    assert best_match("sse", both[:1], cosines={both[0]: 0.1}) is not None


def test_a_vocabulary_finds_what_has_most_in_common() -> None:
    tags = ["css", "css-grid", "inversion-of-control", "uat", "apache-airflow", "docker", "docker-compose"]
    known = TagVocabulary(tags)
    assert known.nearest("airflow", limit=2)[0] == "apache-airflow"
    assert known.nearest("ioc", limit=2)[0] == "inversion-of-control"
    assert known.nearest("user-acceptance-testing", limit=1)[0] == "uat"
    assert set(known.nearest("css-centering", limit=2)) >= {"css"}
    assert "docker" not in known.nearest("docker", limit=5)
    assert known.nearest("zzz", limit=5) == []


def test_a_vocabulary_follows_what_is_in_use() -> None:
    known = TagVocabulary(["docker", "inversion-of-control"])
    known.follow(["docker", "kafka"])
    assert len(known) == 2
    assert "kafka" in known
    assert "inversion-of-control" not in known
    assert known.nearest("ioc", limit=3) == []
    assert known.nearest("kafkas", limit=1) == ["kafka"]
