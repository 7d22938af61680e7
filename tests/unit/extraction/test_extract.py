"""Facts go through the write path: with session, subject and trust, undone together, and stored once."""

from dataclasses import replace

import pytest
from tests.unit.extraction.scripted import ScriptedModel, a_fact
from tests.unit.harness import SPACE, Harness

from scrubjay.errors import InvalidInput
from scrubjay.extraction.extract import extract
from scrubjay.model.fact import Extracted
from scrubjay.model.memory import Method, State, Trust
from scrubjay.model.query import Filter
from scrubjay.model.requests import ExtractRequest
from scrubjay.model.rules import Rules
from scrubjay.ports import Progress
from scrubjay.writing.context import WriteOutcome

LOG = """user: I prefer tabs over spaces.
assistant: Noted. We decided to go with Postgres.
user: What else?
user: I live in Berlin.
"""


async def take(
    harness: Harness,
    text: str = LOG,
    *,
    session: str = "",
    store: bool = True,
    run: str = "r1",
    me: str = "",
    trusted: bool = True,
    progress: Progress | None = None,
) -> Extracted:
    return await extract(
        ExtractRequest(text=text, session=session, store=store, me=me, trusted=trusted),
        space=SPACE,
        origin=harness.origin(run=run),
        context=harness.context,
        llm=None,
        hand_on=no_jobs,
        progress=progress,
    )


async def no_jobs(outcome: WriteOutcome) -> None:
    """Assert that a write leaves no work for later."""
    assert not outcome.jobs


async def test_facts_are_stored_with_their_source(harness: Harness) -> None:
    done = await take(harness, session="s1")
    assert (done.turns, done.session, done.run, done.method) == (4, "s1", "r1", "patterns")
    assert [fact.action for fact in done.facts] == ["created"] * 3
    first, second, _ = [await harness.get(fact.id) for fact in done.facts]
    assert (first.content, first.kind, first.entity) == ("user: I prefer tabs over spaces.", "preference", "user")
    assert (first.source.session, first.source.method, first.source.trust) == ("s1", Method.AUTO, Trust.USER)
    assert (first.metadata["turn"], first.metadata["extracted_by"]) == ("1", "patterns")
    assert (second.kind, second.source.trust) == ("decision", Trust.AGENT)


async def test_the_same_log_stores_nothing_twice(harness: Harness) -> None:
    first = await take(harness)
    again = await take(harness, run="r2")
    assert [fact.action for fact in again.facts] == ["unchanged"] * 3
    assert [fact.id for fact in again.facts] == [fact.id for fact in first.facts]
    assert first.session == again.session
    assert first.session.startswith("log-")
    longer = await take(harness, f"{LOG}user: I have two kids.\n", run="r3")
    assert ([fact.action for fact in longer.facts], longer.session) == (["unchanged"] * 3 + ["created"], first.session)


async def test_a_merged_fact_is_not_merged_again(harness: Harness) -> None:
    harness = replace(harness, rules=Rules(gate="merge", density="off", tags="off"))
    log = "Ann: I prefer tea to coffee.\nAnn: i prefer tea to coffee\n"
    first = await take(harness, log, session="s1")
    assert [fact.action for fact in first.facts] == ["created", "merged"]
    (target,) = {fact.id for fact in first.facts}
    version = (await harness.get(target)).version
    again = await take(harness, log, session="s1", run="r2")
    assert [fact.action for fact in again.facts] == ["unchanged", "unchanged"]
    assert (await harness.get(target)).version == version


async def test_a_dry_run_stores_nothing(harness: Harness) -> None:
    done = await take(harness, store=False)
    assert (len(done.facts), done.run) == (3, "")
    assert {(fact.action, fact.id) for fact in done.facts} == {("", "")}
    assert await harness.store.list_ids(SPACE, Filter(state=State.LIVE), limit=9) == []


async def test_invalid_arguments_are_refused(harness: Harness) -> None:
    for invalid, words in (
        ({"method": "magic"}, "auto, patterns, llm"), ({"method": "llm"}, "SCRUBJAY_LLM"),
        ({"format": "morse"}, "telegram"), ({"text": "  "}, ""),
    ):  # fmt: skip
        request = {"text": LOG, "format": "auto", "method": "auto"} | invalid
        with pytest.raises(InvalidInput) as refused:
            await extract(
                ExtractRequest.of(**request),
                space=SPACE, origin=harness.origin(),
                context=harness.context, llm=None, hand_on=no_jobs,
            )  # fmt: skip
        assert refused.value.fields["field"] == next(iter(invalid))
        assert words in f"{refused.value.message} {refused.value.hint}"


async def test_a_model_is_asked_where_there_is_one_unless_patterns_are_wanted(harness: Harness) -> None:
    log = "Ann: I moved to Rome in May 2024."
    for method, content in (
        ("patterns", "Ann: I moved to Rome in May 2024."),
        ("auto", "Ann moved to Rome in May 2024."),
    ):
        done = await extract(
            ExtractRequest.of(text=log, method=method, project="p1"), space=SPACE,
            origin=harness.origin(), context=harness.context,
            llm=ScriptedModel([a_fact("Ann moved to Rome in May 2024.")]),
            hand_on=no_jobs,
        )  # fmt: skip
        (memory,) = [await harness.get(fact.id) for fact in done.facts]
        assert (memory.content, memory.project) == (content, "p1")
        assert memory.metadata["extracted_by"] == done.method == ("patterns" if method == "patterns" else "llm")


async def test_a_secret_is_cut_out_and_a_second_look_changes_nothing(harness: Harness) -> None:
    log = "user: My username is ann and my key is AKIAIOSFODNN7EXAMPLE"
    harness = replace(harness, rules=Rules(gate="off", density="off", tags="off"))
    (first,) = (await take(harness, log)).facts
    assert "AKIA" not in (await harness.get(first.id)).content
    (again,) = (await take(harness, log, run="r2")).facts
    assert (again.action, again.id) == ("unchanged", first.id)


GROUP = """Ann: I prefer tea to coffee.
Ben: I live in Rome.
assistant: We decided to go with Postgres.
"""


@pytest.mark.parametrize(
    ("text", "me", "trusts"),
    [
        # A speaker called user is the user, and so is a person alone with a program.
        (LOG, "", ["user", "agent", "user"]),
        ("Ann: I prefer tea to coffee.\nassistant: We decided to go with Postgres.", "", ["user", "agent"]),
        ("I prefer tea to coffee.", "", ["user"]),
        ("user: I prefer tea to coffee.\nBen: I live in Rome.", "", ["user", "document"]),
        # Among several people the user is unknown.
        (GROUP, "", ["document", "document", "agent"]),
        ("Ann: I prefer tea to coffee.", "", ["document"]),
        (GROUP, "ben", ["document", "user", "agent"]),
    ],
)
async def test_only_the_users_own_words_are_trusted_as_such(
    harness: Harness, text: str, me: str, trusts: list[str]
) -> None:
    done = await take(harness, text, me=me)
    assert [(await harness.get(fact.id)).source.trust for fact in done.facts] == trusts
    assert bool(done.warnings) == ("user" not in trusts)


async def test_a_later_me_raises_the_trust_of_stored_facts(harness: Harness) -> None:
    first = await take(harness, GROUP)
    again = await take(harness, GROUP, me="Ann", run="r2")
    assert [fact.action for fact in again.facts] == ["updated", "unchanged", "unchanged"]
    assert [fact.id for fact in again.facts] == [fact.id for fact in first.facts]
    assert (await harness.get(first.facts[0].id)).source.trust is Trust.USER


async def test_no_speaker_is_the_user_in_a_log_from_an_agent(harness: Harness) -> None:
    done = await take(harness, GROUP, me="Ann", trusted=False)
    assert {(await harness.get(fact.id)).source.trust for fact in done.facts} == {Trust.AGENT}
    assert not done.warnings


async def test_an_unknown_speaker_is_refused_with_the_speakers_of_the_log(harness: Harness) -> None:
    for me, hint in (
        ("Been", "Did you mean Ben?"),
        ("Zoe", "The speakers are: Ann, Ben"),
        ("assistant", "The speakers are"),
    ):
        with pytest.raises(InvalidInput) as refused:
            await take(harness, GROUP, me=me)
        assert hint in refused.value.hint
        assert refused.value.fields["field"] == "me"


async def test_it_reports_its_progress(harness: Harness) -> None:
    reports: list[tuple[int, int]] = []
    await take(harness, progress=lambda done, total: reports.append((done, total)))
    assert reports == sorted(reports)
    assert reports[-1] == (4, 4)
    assert len(reports) > 2
