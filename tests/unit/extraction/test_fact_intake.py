"""Facts go through the write path: filed, attributed, undone together, and stored once."""

from dataclasses import replace

import pytest
from tests.unit.extraction.scripted import Scripted, a_fact
from tests.unit.workshop import SPACE, Workshop

from scrubjay.errors import InvalidInput
from scrubjay.extraction.intake import extract
from scrubjay.model.fact import Extracted
from scrubjay.model.memory import Method, State, Trust
from scrubjay.model.query import Filter
from scrubjay.model.rules import Rules

LOG = """user: I prefer tabs over spaces.
assistant: Noted. We decided to go with Postgres.
user: What else?
user: I live in Berlin.
"""


async def take(shop: Workshop, text: str = LOG, *, session: str = "", store: bool = True, run: str = "r1") -> Extracted:
    return await extract(
        text, session=session, store=store, format="auto", method="auto", project="", space=SPACE,
        origin=shop.origin(run=run), desk=shop.desk, llm=None,
    )  # fmt: skip


async def test_facts_are_stored_with_all_that_is_known_of_them(shop: Workshop) -> None:
    done = await take(shop, session="s1")
    assert (done.turns, done.session, done.run, done.method) == (4, "s1", "r1", "patterns")
    assert [one.action for one in done.facts] == ["created"] * 3
    first, second, _ = [await shop.get(one.id) for one in done.facts]
    assert (first.content, first.kind, first.entity) == ("user: I prefer tabs over spaces.", "preference", "user")
    assert (first.source.session, first.source.method, first.source.trust) == ("s1", Method.AUTO, Trust.USER)
    assert (first.metadata["turn"], first.metadata["extracted_by"]) == ("1", "patterns")
    assert (second.kind, second.source.trust) == ("decision", Trust.AGENT)


async def test_the_same_log_stores_nothing_twice(shop: Workshop) -> None:
    first = await take(shop)
    again = await take(shop, run="r2")
    assert [one.action for one in again.facts] == ["unchanged"] * 3
    assert [one.id for one in again.facts] == [one.id for one in first.facts]
    assert first.session == again.session
    assert first.session.startswith("log-")
    longer = await take(shop, f"{LOG}user: I have two kids.\n", run="r3")
    assert ([one.action for one in longer.facts], longer.session) == (["unchanged"] * 3 + ["created"], first.session)


async def test_what_was_merged_is_not_merged_again(quick: Workshop) -> None:
    shop = replace(quick, rules=Rules(gate="merge", density="off", tags="off"))
    log = "Ann: I prefer tea to coffee.\nAnn: i prefer tea to coffee\n"
    first = await take(shop, log, session="s1")
    assert [one.action for one in first.facts] == ["created", "merged"]
    (target,) = {one.id for one in first.facts}
    version = (await shop.get(target)).version
    again = await take(shop, log, session="s1", run="r2")
    assert [one.action for one in again.facts] == ["unchanged", "unchanged"]
    assert (await shop.get(target)).version == version


async def test_a_dry_run_stores_nothing(quick: Workshop) -> None:
    done = await take(quick, store=False)
    assert (len(done.facts), done.run) == (3, "")
    assert {(one.action, one.id) for one in done.facts} == {("", "")}
    assert await quick.store.list_ids(SPACE, Filter(state=State.LIVE), limit=9) == []


async def test_what_cannot_be_is_refused(quick: Workshop) -> None:
    for given in ({"method": "magic"}, {"method": "llm"}, {"format": "morse"}, {"text": "  "}):
        asked = {"text": LOG, "format": "auto", "method": "auto"} | given
        with pytest.raises(InvalidInput) as refused:
            await extract(
                **asked, session="", store=True, project="", trusted=True, space=SPACE, origin=quick.origin(),
                desk=quick.desk, llm=None,
            )  # fmt: skip
        assert refused.value.hint


async def test_a_model_is_asked_where_there_is_one_unless_patterns_are_wanted(quick: Workshop) -> None:
    log = "Ann: I moved to Rome in May 2024."
    for method, told in (("patterns", "Ann: I moved to Rome in May 2024."), ("auto", "Ann moved to Rome in May 2024.")):
        done = await extract(
            log, session="", store=True, format="auto", method=method, project="p1", space=SPACE,
            origin=quick.origin(), desk=quick.desk, llm=Scripted([a_fact("Ann moved to Rome in May 2024.")]),
        )  # fmt: skip
        (kept,) = [await quick.get(one.id) for one in done.facts]
        assert (kept.content, kept.project) == (told, "p1")
        assert kept.metadata["extracted_by"] == done.method == ("patterns" if method == "patterns" else "llm")


async def test_a_secret_is_cut_out_and_a_second_look_changes_nothing(quick: Workshop) -> None:
    log = "user: My username is ann and my key is AKIAIOSFODNN7EXAMPLE"
    shop = replace(quick, rules=Rules(gate="off", density="off", tags="off"))
    (first,) = (await take(shop, log)).facts
    assert "AKIA" not in (await shop.get(first.id)).content
    (again,) = (await take(shop, log, run="r2")).facts
    assert (again.action, again.id) == ("unchanged", first.id)
