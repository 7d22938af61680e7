"""A memory as passages: all of its text, each part once, and at least one passage."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.fakes.build import START, a_memory
from tests.unit.strategies import few_examples, some_examples

from scrubjay.model.memory import Memory, Observation, Source
from scrubjay.model.passage import PASSAGES_PER_MEMORY, SPOKEN
from scrubjay.text import passages as module
from scrubjay.text.passages import MAX_SLICE, embedding_text, passages_of, slices, text_hash, text_of
from scrubjay.text.tokens import terms_of

words = st.text("ab. \n", min_size=900, max_size=3500)


def observed(*texts: str, content: str = "", title: str = "") -> Memory:
    facts = tuple(Observation(text=text, recorded_at=START) for text in texts)
    return a_memory(content, title=title, observations=facts)


@given(st.text(max_size=50) | words)
@some_examples
def test_slices_cover_a_text_without_gap_or_overlap(text: str) -> None:
    cuts = list(slices(text))
    assert "".join(text[start:end] for start, end in cuts) == text
    assert [start for start, _ in cuts[1:]] == [end for _, end in cuts[:-1]]
    assert all(0 < end - start <= MAX_SLICE for start, end in cuts) or text == ""


def test_an_empty_text_is_one_empty_slice() -> None:
    assert list(slices("")) == [(0, 0)]


def test_a_text_that_fits_is_one_slice() -> None:
    assert list(slices("x" * MAX_SLICE)) == [(0, MAX_SLICE)]


def test_a_word_longer_than_a_slice_is_cut_in_pieces() -> None:
    assert [end - start for start, end in slices("x" * 2500)] == [1000, 1000, 500]


@pytest.mark.parametrize("mark", ["\n\n", "\n", ". ", " "])
def test_a_cut_falls_behind_the_best_mark(mark: str) -> None:
    # The better mark is chosen, though worse ones come later in the slice.
    worse = {"\n\n": "a\nb. c d", "\n": "a. b c", ". ": "a b", " ": "ab"}[mark]
    text = "x" * 700 + mark + worse + "y" * 1000
    assert next(slices(text)) == (0, 700 + len(mark))


def test_a_mark_in_the_first_half_is_no_place_to_cut() -> None:
    assert next(slices("short. " + "x" * 2000)) == (0, MAX_SLICE)


@given(st.text(max_size=30) | words, st.lists(st.text(max_size=30) | words, max_size=3))
@few_examples
def test_passages_hold_all_words_of_a_memory(content: str, facts: list[str]) -> None:
    passages = passages_of(observed(*facts, content=content))
    assert [passage.ordinal for passage in passages] == list(range(len(passages)))
    for observation, text in enumerate(facts):
        mine = [passage for passage in passages if passage.observation == observation]
        assert "".join(text[passage.start : passage.end] for passage in mine) == text
    if content.strip():
        mine = [passage for passage in passages if passage.observation is None]
        assert "".join(content[passage.start : passage.end] for passage in mine) == content


@pytest.mark.parametrize("memory", [a_memory(""), a_memory("  \n"), a_memory("", title="Only a title"), a_memory("x")])
def test_no_memory_is_without_a_passage(memory: Memory) -> None:
    assert len(passages_of(memory)) == 1


def test_observations_alone_need_no_passage_for_the_content() -> None:
    assert [passage.observation for passage in passages_of(observed("likes tea", "hates milk"))] == [0, 1]


def test_a_superseded_observation_has_no_passage_and_the_others_keep_their_numbers() -> None:
    memory = observed("lives in Oslo", "has a dog", "lives in Bergen")
    first, *others = memory.observations
    passages = passages_of(replace(memory, observations=(replace(first, valid_until=START), *others)))
    assert [passage.observation for passage in passages] == [1, 2]
    assert [passage.ordinal for passage in passages] == [0, 1]
    assert not any("oslo" in passage.terms for passage in passages)


def test_a_memory_of_which_nothing_holds_is_found_by_its_name() -> None:
    memory = observed("lives in Oslo", title="Sarah")
    gone = replace(memory, observations=(replace(memory.observations[0], valid_until=START),))
    (passage,) = passages_of(gone)
    assert passage.observation is None
    assert text_of(gone, passage.observation, passage.start, passage.end) == "Sarah"
    assert "oslo" not in passage.terms


def test_a_passage_is_found_by_title_entity_and_tags_too() -> None:
    memory = a_memory("likes tea\n\n" * 200, title="Breakfast", entity="Sarah", tags=("drinks",))
    passages = passages_of(memory)
    assert len(passages) > 1
    for passage in passages:
        assert {*terms_of("Breakfast Sarah drinks tea")} <= {*passage.terms}


def test_the_name_is_a_term_of_the_first_passage_only() -> None:
    first, *others = passages_of(a_memory("tea\n\n" * 400, name="quarterly-review"))
    assert set(terms_of("quarterly review")) <= set(first.terms)
    assert not any(set(terms_of("quarterly review")) & set(other.terms) for other in others)


def test_a_name_that_repeats_the_text_adds_nothing() -> None:
    (passage,) = passages_of(a_memory("green tea", name="green-tea", created_at=START))
    assert passage.terms == terms_of("1 January 2026 green tea")


def test_a_passage_is_found_by_its_day_but_not_by_the_hour() -> None:
    date = datetime(2023, 5, 7, 14, 33, tzinfo=UTC)
    # Its name is among its terms.
    memory = a_memory("tea\n\n" * 400, name="tea", source=Source(at=date), created_at=START)
    passages = passages_of(memory)
    assert len(passages) > 1
    for passage in passages:
        assert set(terms_of("7 May 2023")) <= set(passage.terms)
        assert not {"14", "33", "2026", "januari"} & set(passage.terms)


@pytest.mark.parametrize(
    ("text", "who"),
    [
        ("Sarah: likes tea", "sarah"),
        (" Sarah Miller: likes tea", "sarah miller"),
        ("O'Neill: yes", "o'neill"),
        ("\u0421\u0430\u0448\u0430: \u0434\u0430", "\u0421\u0430\u0448\u0430"),
        ("likes tea", ""),
        ("Sarah:likes tea", ""),
        ("at 12:30 there was tea", ""),
        ("https://example.org: tea", ""),
        ("one two three four: tea", ""),
        ("said Sarah\nBob: yes", ""),
    ],
)
def test_the_speaker_is_at_the_beginning(text: str, who: str) -> None:
    (passage,) = passages_of(a_memory(text))
    assert passage.who == terms_of(who)


def test_the_entity_comes_before_the_speaker() -> None:
    memory = observed("Bob: likes tea", "hates milk")
    assert [passage.who for passage in passages_of(memory)] == [("bob",), ()]
    about = replace(memory, entity="Sarah Miller")
    assert {passage.who for passage in passages_of(about)} == {terms_of("Sarah Miller")}


@pytest.mark.parametrize(
    ("text", "asks"),
    [
        ("Tea?", 2),
        ("Tea? \n", 2),
        ("\u8336\uff1f", 2),
        ("\u0634\u0627\u06cc\u061f", 2),
        ("Tea? Yes.", 1),
        ("Tea.", 0),
        ("", 0),
    ],
)
def test_a_passage_asks_within_or_at_its_end(text: str, asks: int) -> None:
    (passage,) = passages_of(a_memory(text))
    assert passage.asks == asks


@pytest.mark.parametrize(
    ("text", "entity", "session", "is_spoken"),
    [
        ("Caroline: yes, that was fun.", "Caroline", "", True),
        ("Bob: yes, at ten.", "", "monday", True),
        ("I moved to Porto last week.", "", "monday", True),
        ("Could that be later?", "", "monday", True),
        ("Warranty: three years on ovens.", "", "monday", False),
        ("Papiertonne: jeden ersten Freitag im Monat.", "", "monday", False),
        ("Forecasts come from GET /v1/forecast?branch=7.", "", "monday", False),
        ("Node drain recipe: first cordon the node.", "", "monday", False),
        ("Caroline moved to Porto.", "Caroline", "monday", False),
        ("I prefer tabs.", "", "", False),
    ],
)
def test_a_turn_of_a_conversation_is_known(text: str, entity: str, session: str, is_spoken: bool) -> None:
    (passage,) = passages_of(a_memory(text, entity=entity, source=Source(session=session)))
    assert bool(passage.asks & SPOKEN) is is_spoken


def test_one_slice_may_ask_and_another_tell() -> None:
    memory = observed("likes tea", "or milk?", content="milk " * 300)
    assert [passage.asks for passage in passages_of(memory)] == [0, 0, 0, 2]


def test_there_is_an_end_to_passages(monkeypatch: pytest.MonkeyPatch) -> None:
    assert PASSAGES_PER_MEMORY == 65_536
    monkeypatch.setattr(module, "PASSAGES_PER_MEMORY", 64)
    passages = passages_of(observed(*["fact"] * 100))
    assert 60 < len(passages) <= 64
    assert passages[-1].ordinal < 64


def test_the_words_of_a_passage() -> None:
    memory = observed("likes tea", content="likes milk", title="Sarah")
    assert text_of(memory, None, 6, 10) == "milk"
    assert text_of(memory, 0, 6, 9) == "tea"
    assert text_of(observed("x", title="Sarah"), None, 0, 0) == "Sarah"


def test_the_title_is_embedded_with_the_words() -> None:
    assert embedding_text(a_memory("likes tea", title="Sarah"), None, 0, 9) == "Sarah\nlikes tea"
    assert embedding_text(a_memory("likes tea"), None, 0, 9) == "likes tea"
    assert embedding_text(a_memory("", title="Sarah"), None, 0, 0) == "Sarah"


def test_one_text_for_several_entities_has_one_hash() -> None:
    (sarah,), (acme,) = passages_of(a_memory("tea", entity="Sarah")), passages_of(a_memory("tea", entity="Acme"))
    assert sarah.hash == acme.hash
    assert sarah.terms != acme.terms


def test_a_hash_is_short_and_of_any_text() -> None:
    assert len(text_hash("tea")) == 16
    assert text_hash("a\ud800") != text_hash("a\ud801")


def test_a_picture_is_a_passage_of_its_own() -> None:
    facts = {"media_type": "image/png", "sha256": "0" * 64}
    bare = a_memory("", title="a.png", kind="attachment", metadata=facts)
    (only,) = passages_of(bare)
    assert (only.hash, text_of(bare, None, only.start, only.end)) == (text_hash("\0" + "0" * 64), "a.png")
    described = replace(bare, content="A walnut tree")
    words, picture = passages_of(described)
    assert words.hash == text_hash("a.png\nA walnut tree")
    assert (picture.hash, picture.ordinal, text_of(described, None, picture.start, picture.end)) == (
        only.hash,
        1,
        "a.png",
    )
    for others in ({"sha256": "0" * 64}, facts | {"media_type": "image/svg+xml"}, facts | {"sha256": "../" * 21 + "x"}):
        assert len(passages_of(replace(described, metadata=others))) == 1
    assert len(passages_of(replace(described, kind="note"))) == 1


def test_an_observation_that_held_at_the_write_has_a_passage_though_it_has_an_end() -> None:
    memory = observed("rents a flat", "has a dog")
    first, other = memory.observations
    for end, places in ((memory.updated_at + timedelta(days=1), [0, 1]), (memory.updated_at, [1])):
        ending = replace(memory, observations=(replace(first, valid_until=end), other))
        assert [passage.observation for passage in passages_of(ending)] == places


def test_passages_without_terms_have_the_same_texts() -> None:
    memory = observed("Ada keeps bees.", content="Who keeps bees? " * 100, title="Bees")
    bare = passages_of(memory, with_terms=False)
    assert bare == tuple(replace(passage, terms=(), who=()) for passage in passages_of(memory))
