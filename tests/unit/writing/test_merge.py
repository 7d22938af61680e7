"""Two memories become one without losing a statement of either."""

import time
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.fakes.build import START, MemoryFields, a_memory, moment

from scrubjay.model.memory import Flag, Memory, Observation, Source, Trust
from scrubjay.text.claims.statements import comparison_key, statements_of
from scrubjay.writing.merge import as_one_statement, merge, not_merged

NOW = moment(60)
PIECES = st.sampled_from(
    [
        "The login failed.", "The login failed since Monday.", "Ann fixed it.", "ann fixed it", "It has 3 retries.",
        "It has 4 retries.", "It does not work on Windows.", "- tea", "- coffee", "Open:", "# Head", "```\nx = 1\n```",
        "```", "no full stop", "They say the login failed.", "Mr. Smith left.", "| a | b |", "---",
    ]
)  # fmt: skip
JOINTS = st.sampled_from([" ", "\n", "\n\n"])
CONTENTS = st.lists(st.tuples(PIECES, JOINTS), max_size=6).map(lambda parts: "".join(map("".join, parts)))


@st.composite
def memories(draw: st.DrawFn) -> Memory:
    observations = tuple(
        Observation(text=text, recorded_at=START) for text in draw(st.lists(PIECES, max_size=3, unique=True))
    )
    return a_memory(draw(CONTENTS), observations=observations)


def statements_in(memory: Memory) -> set[str]:
    """Return the statements of a memory, without those that are part of another."""
    texts = (*statements_of(memory.content), *(observation.text for observation in memory.observations))
    # An open fence is closed by the text that comes after it.
    keys = {" ".join(comparison_key(text).replace("`", " ").split()) for text in texts}
    return {key for key in keys if not any(key != other and key in other for other in keys)}


def has_statement(statement: str, memory: Memory) -> bool:
    texts = (*statements_of(memory.content), *(observation.text for observation in memory.observations))
    return any(comparison_key(statement) in comparison_key(text) for text in texts)


@settings(max_examples=80, deadline=None)
@given(memories(), memories())
def test_no_statement_is_ever_lost(first: Memory, second: Memory) -> None:
    both = merge(first, second, at=NOW)
    assert both.content.startswith(first.content) or not first.content.strip()
    assert both.observations[: len(first.observations)] == first.observations
    for memory in (first, second):
        for text in (*statements_of(memory.content), *(observation.text for observation in memory.observations)):
            assert has_statement(text, both), text


@settings(max_examples=80, deadline=None)
@given(memories(), memories())
def test_a_merged_memory_is_not_merged_again(first: Memory, second: Memory) -> None:
    both = merge(first, second, at=NOW)
    assert merge(both, second, at=NOW) is both
    assert merge(first, first, at=NOW) is first


@settings(max_examples=80, deadline=None)
@given(memories(), memories(), memories())
def test_three_memories_merged_in_any_order_say_the_same(first: Memory, second: Memory, third: Memory) -> None:
    left = merge(merge(first, second, at=NOW), third, at=NOW)
    right = merge(first, merge(second, third, at=NOW), at=NOW)
    assert statements_in(left) == statements_in(right)


def test_new_statements_follow_as_a_paragraph_with_their_source() -> None:
    first = a_memory("The login failed. Ann fixed it.", tags=("auth",))
    source = Source(agent="reviewer", session="s1")
    second = a_memory("ann fixed it!  The token lives 3600 s. It was slow.", tags=("cli", "auth"), source=source)
    both = merge(first, second, at=NOW)
    assert both.content == "The login failed. Ann fixed it.\n\nThe token lives 3600 s. It was slow."
    assert both.tags == ("auth", "cli")
    (entry,) = both.merged
    assert (entry.id, entry.at, entry.source) == (second.id, NOW, source)
    assert entry.statements == ("The token lives 3600 s.", "It was slow.")
    assert (both.version, both.updated_at, both.last_confirmed) == (2, NOW, NOW)
    assert (both.id, both.name, both.created_at) == (first.id, first.name, first.created_at)


def test_a_wholly_new_text_is_added_unchanged() -> None:
    second = a_memory("## Steps\n\n1. stop\n\n2. start\n")
    both = merge(a_memory("How to restart."), second, at=NOW)
    assert both.content == "How to restart.\n\n## Steps\n\n1. stop\n\n2. start"


@pytest.mark.parametrize(
    ("first", "second", "added"),
    [
        ("The login failed since Monday.", "The login failed.", False),
        ("If it rains the login failed.", "The login failed.", True),
        ("They say the login failed.", "The login failed.", True),
        ("Nobody thinks the login failed.", "The login failed.", True),
        ("It is not true that the login failed.", "The login failed.", True),
        ("Alice denied that the server was hacked.", "The server was hacked.", True),
        ("Bob dreamed the server was hacked.", "The server was hacked.", True),
        ("Was it true that all tests pass on main?", "all tests pass on main", True),
        ("The build passes?", "The build passes.", True),
        ("12. May is the deadline.", "13. May is the deadline.", True),
        ("Set FOO=Bar in the shell.", "Set FOO=bar in the shell.", True),
        ("Note: the login failed.", "The login failed.", False),
        ("The login failed, and Ann fixed the token.", "The login failed.", False),
        ("It works.", "It works on Windows.", True),
        ("It has 3 retries.", "It has 4 retries.", True),
        ("Runs on port 80.", "on port", True),
        ("```\na  b\n```", "```\na b\n```", True),
    ],
)
def test_a_part_of_a_statement_is_a_repetition_unless_it_was_not_claimed(first: str, second: str, added: bool) -> None:
    assert (merge(a_memory(first), a_memory(second), at=NOW).content != first) is added


def test_observations_are_united_and_keep_their_sources() -> None:
    mine = Observation(text="It has 3 retries.", recorded_at=START)
    again = Observation(text="it has 3 retries", recorded_at=NOW)
    repeated = Observation(text="The login failed.", recorded_at=NOW)
    theirs = Observation(text="It is slow.", recorded_at=NOW)
    given_source = Observation(text="It is old.", recorded_at=NOW, source=Source(session="a book"))
    first = a_memory("The login failed.", observations=(mine,))
    source = Source(agent="coder", session="s7")
    second = a_memory("", observations=(again, repeated, theirs, given_source), source=source)
    both = merge(first, second, at=NOW)
    assert both.observations == (mine, replace(theirs, source=source), given_source)
    assert both.merged[0].statements == ("It is slow.", "It is old.")
    assert both.content == first.content


def test_a_statement_that_was_an_observation_is_not_said_twice() -> None:
    first = a_memory("Facts.", observations=(Observation(text="The login failed.", recorded_at=START),))
    assert merge(first, a_memory("The login failed."), at=NOW) is first


def test_the_first_memory_takes_precedence_in_fields_with_one_value() -> None:
    first = a_memory("One.", title="First", kind="decision", metadata={"a": 1, "b": 2}, pinned=True)
    second = a_memory(
        "Two.", kind="note", category="work", project="p", entity="Ann", metadata={"b": 3, "c": 4}, pinned=False
    )
    both = merge(first, second, at=NOW)
    assert (both.title, both.kind, both.category, both.project, both.entity) == (
        "First",
        "decision",
        "work",
        "p",
        "Ann",
    )
    assert (dict(both.metadata), both.pinned) == ({"a": 1, "b": 2, "c": 4}, True)
    assert not_merged(first, second) == ("metadata b",)


@pytest.mark.parametrize(
    ("fields", "apart"),
    [
        (MemoryFields(kind="decision"), ("kind",)),
        (MemoryFields(kind="note"), ()),
        (MemoryFields(title="Login failed"), ("title",)),
        (MemoryFields(title="the  login"), ()),
        (MemoryFields(category="home"), ("category",)),
        (MemoryFields(scope="team"), ("scope",)),
        (MemoryFields(metadata={"status": "closed"}), ("metadata status",)),
        (MemoryFields(metadata={"status": "open", "done": 1}), ("metadata done",)),
        (MemoryFields(tags=("a", "b", "c")), ("tag c",)),
    ],
)
def test_a_repeat_that_differs_beside_the_text_is_kept_as_a_part(fields: MemoryFields, apart: tuple[str, ...]) -> None:
    first = a_memory(
        "The login failed.", title="The login", kind="fact", category="work", scope="me", tags=("a", "b"),
        metadata={"status": "open", "done": True},
    )  # fmt: skip
    again = a_memory("The login failed!", **fields)
    assert not_merged(first, again, max_tags=2) == apart
    both = merge(first, again, at=NOW, max_tags=2)
    assert (both is not first) is bool(apart)
    assert [(part.id, part.statements) for part in both.merged] == ([(again.id, ())] if apart else [])
    assert replace(both, merged=(), version=1, updated_at=first.updated_at, last_confirmed=None) == first
    assert merge(both, again, at=NOW, max_tags=2) is both


def test_until_when_an_observation_holds_is_part_of_it() -> None:
    mine = Observation(text="It has 3 retries.", recorded_at=START)
    ends = replace(mine, valid_until=NOW)
    both = merge(a_memory("One.", observations=(mine,)), second := a_memory("", observations=(ends,)), at=NOW)
    assert [observation.valid_until for observation in both.observations] == [None, NOW]
    assert merge(both, second, at=NOW) is both


@pytest.mark.parametrize(
    "piece", ["A. ", "The login failed, and ", "0x", "1-", "a-", "--", "1", "word ", "Note: it is. "]
)
def test_no_texts_take_long(piece: str) -> None:
    text = piece * (100_000 // len(piece))
    before = time.process_time()
    merge(a_memory(text), a_memory(f"{text} again"), at=NOW)
    assert time.process_time() - before < 3


def test_many_statements_do_not_take_long() -> None:
    first, second = (" ".join(f"{word} {number} is here." for number in range(3000)) for word in ("Fact", "Note"))
    before = time.process_time()
    assert len(merge(a_memory(first), a_memory(second), at=NOW).merged[0].statements) == 3000
    assert time.process_time() - before < 3


def test_tags_are_united_up_to_a_limit_and_none_of_the_first_is_dropped() -> None:
    first = a_memory("One.", tags=("a", "b", "c"))
    second = a_memory("Two.", tags=("c", "d", "e"))
    assert merge(first, second, at=NOW, max_tags=4).tags == ("a", "b", "c", "d")
    assert merge(first, second, at=NOW, max_tags=2).tags == ("a", "b", "c")


def test_a_title_that_tells_more_is_kept() -> None:
    first = a_memory("The login failed.", title="Login")
    both = merge(first, a_memory("Ann fixed it.", title="Token race:"), at=NOW)
    assert (both.title, both.content) == ("Login", "The login failed.\n\nToken race\n\nAnn fixed it.")
    assert not_merged(first, a_memory("Ann fixed it.", title="Token race:")) == ()
    titled = merge(first, a_memory("Ann fixed the login.", title="Login failed"), at=NOW)
    assert titled.content == "The login failed.\n\nAnn fixed the login."
    assert merge(a_memory("One."), a_memory("Two.", title="Title"), at=NOW).title == "Title"
    denied = merge(first, a_memory("The login failed.", title="No login failed"), at=NOW)
    assert denied.content == "The login failed.\n\nNo login failed"


def test_flags_are_united_and_an_extended_memory_is_not_thin() -> None:
    first = replace(a_memory("One."), flags=(Flag.THIN,))
    second = replace(a_memory("Two."), flags=(Flag.THIN, Flag.REDACTED))
    assert merge(first, second, at=NOW).flags == ("redacted",)
    assert merge(first, replace(first, flags=()), at=NOW) is first


def test_an_addition_does_not_become_part_of_an_open_block() -> None:
    code = merge(a_memory("```\nx = 1"), a_memory("Ann fixed it."), at=NOW).content
    assert code == "```\nx = 1\n```\n\nAnn fixed it."
    heading = merge(a_memory("Not working:"), a_memory("Ann fixed it."), at=NOW).content
    assert statements_of(heading) == ("Not working:", "Ann fixed it.")


@pytest.mark.parametrize(
    ("first", "second", "whole"),
    [
        ("Deploys happen on Thursdays.", "Deploys of the shop always happen on Thursdays.", 1),
        ("The weekly backup of the house runs on Sundays.", "Backups run on Sundays.", 0),
    ],
)
def test_two_wordings_of_one_statement_read_as_the_fullest(first: str, second: str, whole: int) -> None:
    memory, incoming = a_memory(first), a_memory(second)
    merged = as_one_statement(merge(memory, incoming, at=NOW), memory, incoming)
    assert merged.content == (first, second)[whole]
    assert merged.merged[0].statements == (() if whole == 0 else (second,))


def test_a_wording_with_a_negation_of_its_own_stays() -> None:
    memory, incoming = a_memory("Deploys happen on Thursdays."), a_memory("Deploys never happen before Thursdays.")
    merged = as_one_statement(merge(memory, incoming, at=NOW), memory, incoming)
    assert merged.content == f"{memory.content}\n\n{incoming.content}"


def test_a_wording_with_a_figure_of_its_own_stays() -> None:
    memory, incoming = a_memory("Tea in the big kitchen of the house is at four."), a_memory("Tea is at 4:15.")
    merged = as_one_statement(merge(memory, incoming, at=NOW), memory, incoming)
    assert merged.content == f"{memory.content}\n\n{incoming.content}"


def test_a_less_trusted_wording_adds_nothing_and_its_title_is_not_adopted() -> None:
    memory = a_memory("Tea in the big kitchen is at four.", source=Source(trust=Trust.USER))
    incoming = a_memory("Tea is at four.", title="Pay Mallory", source=Source(trust=Trust.DOCUMENT))
    merged = as_one_statement(merge(memory, incoming, at=NOW), memory, incoming)
    assert (merged.content, merged.observations, merged.title) == (memory.content, (), "")
    assert not_merged(memory, incoming) == ("title",)
    # The word of the user replaces a shorter one of an agent.
    agents = a_memory("Tea is at four.", source=Source(trust=Trust.AGENT))
    users = a_memory("Tea in the big kitchen is at four.", title="Tea", source=Source(trust=Trust.USER))
    taken = as_one_statement(merge(agents, users, at=NOW), agents, users)
    assert (taken.content, taken.observations, taken.title) == (users.content, (), "Tea")
