"""Phrases of a text that could be tags."""

from scrubjay.text.tags.suggest import find_phrases, is_common, is_name


def test_the_title_comes_first_and_longer_phrases_before_their_words() -> None:
    phrases = [phrase.tag for phrase in find_phrases("The release notes are late", title="Vector search")]
    assert phrases[:2] == ["vector-search", "search"]
    assert phrases.index("release-notes") < phrases.index("release")
    assert "the" not in phrases
    assert "the-release" not in phrases


def test_a_phrase_does_not_cross_the_end_of_a_sentence() -> None:
    phrases = {phrase.tag for phrase in find_phrases("We use Postgres. Kafka is gone")}
    assert {"postgres", "kafka"} <= phrases
    assert "postgres-kafka" not in phrases


def test_code_addresses_and_paths_are_no_subject() -> None:
    text = "See https://example.org/secretpath and /etc/hosts, or mail jay@example.org ```import numpy``` [REDACTED]"
    phrases = {phrase.tag for phrase in find_phrases(text)}
    assert phrases.isdisjoint({"secretpath", "hosts", "example.org", "numpy", "redacted", "jay"})


def test_names_of_programs_are_distinguished_from_words_and_people() -> None:
    text = "Sarah asked about kubectl, GitHub, pgvector and the meeting; 1a2b3c4d is a hash"
    names = {phrase.tag for phrase in find_phrases(text) if is_name(phrase)}
    assert {"kubectl", "github", "pgvector"} <= names
    assert names.isdisjoint({"sarah", "meeting", "asked", "hash"})


def test_everyday_words_are_common() -> None:
    assert is_common("meeting")
    assert is_common("release-notes")
    assert not is_common("pgvector")


def test_a_long_text_is_read_in_part() -> None:
    assert len(find_phrases("kiln wool tea " * 10_000)) < 300
