"""Forms that change memories, as a person sends them; each change can be taken back."""

import re
from dataclasses import replace
from urllib.parse import parse_qs, urlsplit

from tests.surfaces.dashboard.browser import Browser
from tests.surfaces.rest.http_stack import HttpStack

from scrubjay.model.caller import Caller
from scrubjay.model.requests import HistoryRequest, ReadRequest, RememberRequest, ReviseRequest

ME = Caller(agent="ada")


def last_run(browser: Browser) -> str:
    assert browser.last is not None
    return parse_qs(urlsplit(str(browser.last.url)).query)["run"][0]


async def test_a_memory_is_edited_reverted_forgotten_and_all_of_it_taken_back(
    stack: HttpStack, browser: Browser
) -> None:  # fmt: skip
    engine = stack.engine
    draft = RememberRequest(
        text="The office closes at six\n", title="Office", tags=("hours",), observations=("Since May",)
    )
    made = await engine.remember(draft, who=ME)

    async def stored() -> tuple[str, tuple[str, ...]]:
        (memory,) = (await engine.read(ReadRequest(ids=(made.id,)), who=ME)).memories
        return memory.content, tuple(item.text for item in memory.observations)

    form = await browser.open("/ui/edit", id=made.id)
    fields: dict[str, str | list[str]] = {
        **form.fields, "title": "Office", "kind": "note", "category": "", "project": "", "tier": "working",
        "text": "The office closes at seven", "tags": "hours, office", "message": "as agreed",
        "observation": ["Since May", "", "Not on Fridays"],
    }  # fmt: skip
    page = await browser.send("/ui/revise", fields)
    assert "Saved as a new version" in page.text
    assert await stored() == ("The office closes at seven", ("Since May", "Not on Fridays"))
    edited = last_run(browser)

    # The same form once more is about an older version: nothing is lost, neither what is stored nor what was typed.
    await engine.revise(ReviseRequest(id=made.id, text="The office closes at eight"), who=ME)
    page = await browser.send("/ui/revise", {**fields, "text": "The office closes at nine"}, status=409)
    assert "Nothing was saved" in page.text
    assert "The office closes at nine" in page.text
    assert (await stored())[0] == "The office closes at eight"
    page = await browser.send(
        "/ui/revise", {**fields, "text": "The office closes at nine", "version": page.fields["version"]}
    )  # fmt: skip
    assert (await stored())[0] == "The office closes at nine"
    page = await browser.send("/ui/undo", run=last_run(browser), back=f"/ui/memory?id={made.id}")
    assert "Taken back" in page.text
    assert (await stored())[0] == "The office closes at eight"

    # What others have changed since is left alone.
    page = await browser.send("/ui/undo", run=edited, back=f"/ui/memory?id={made.id}")
    assert "Nothing was taken back: it has changed since" in page.text
    both = replace(ME, run="both")
    notes = [
        await engine.remember(RememberRequest(text=f"Note {number} of the office", intent="new"), who=both)
        for number in (1, 2)
    ]
    await engine.revise(ReviseRequest(id=notes[0].id, text="Changed since"), who=ME)
    page = await browser.send("/ui/undo", run="both", back="/ui/timeline")
    assert "Taken back, except for what was changed since" in page.text
    assert "Changed since" in page.text
    assert "Note 2" not in page.text

    assert "Go back to version 1" in (await browser.open("/ui/history", id=made.id, a="1", b="2")).text
    await browser.send("/ui/revert", id=made.id, to="1")
    assert await stored() == (draft.text, ("Since May",))
    await browser.send("/ui/forget", id=made.id)
    assert "Moved to the trash" in (await browser.open("/ui/trash", did="forgotten")).text
    assert "Office" in (await browser.open("/ui/trash")).text
    assert "Office" not in (await browser.open("/")).text
    assert "Restore" in (await browser.open("/ui/memory", id=made.id)).text
    assert "Back from the trash" in (await browser.send("/ui/restore", id=made.id)).text
    assert "Confirmed" in (await browser.send("/ui/confirm", id=made.id)).text
    history = await engine.history(HistoryRequest(id=made.id), who=ME)
    assert {version.agent for version in history.versions} == {"ada", "dashboard"}
    await browser.send("/ui/forget", id="nothing-like-it", status=404)
    await browser.send("/ui/revert", id=made.id, status=422)
    await browser.send("/ui/revise", {**fields, "title": "x" * 301, "version": ""}, status=422)


async def test_a_form_without_observations_is_shown_again_when_another_has_left_few(
    stack: HttpStack, browser: Browser
) -> None:
    many = tuple(f"Fact {number}" for number in range(201))
    made = await stack.engine.remember(RememberRequest(text="The office", title="Office", observations=many), who=ME)
    form = await browser.open("/ui/edit", id=made.id)
    assert "edits_observations" not in form.fields
    await stack.engine.revise(ReviseRequest(id=made.id, observations=("Only this",)), who=ME)
    fields = {**form.fields, "title": "Office", "text": "What I typed", "tier": "working"}
    page = await browser.send("/ui/revise", fields, status=409)
    for shown in ("Nothing was saved", "What I typed", "Only this"):
        assert shown in page.text


async def test_a_branch_is_made_merged_and_dropped(stack: HttpStack, browser: Browser) -> None:
    engine = stack.engine
    made = await engine.remember(RememberRequest(text="We meet on Monday", title="Meeting"), who=ME)
    await browser.open("/")
    page = await browser.send("/ui/branch", id=made.id, name="plan", about="What if it moves?")
    assert "switched to it" in page.text
    await engine.revise(ReviseRequest(id=made.id, text="We meet on Tuesday", branch="plan"), who=ME)
    await engine.revise(ReviseRequest(id=made.id, text="We meet on Friday", branch="main"), who=ME)
    page = await browser.send("/ui/merge-branch", id=made.id, name="plan", status=409)
    for shown in ("nothing was merged", "We meet on Friday", "We meet on Tuesday"):
        assert shown in page.text
    page = await browser.send("/ui/merge-branch", id=made.id, name="plan", prefer="theirs")
    assert "merged into main" in page.text
    assert "We meet on Tuesday" in page.text
    await browser.send("/ui/switch", id=made.id, name="plan")
    assert "in the trash" in (await browser.send("/ui/drop-branch", id=made.id, name="plan")).text
    await browser.send("/ui/branch", id=made.id, name="not a name!", status=422)


async def test_labels_and_days_lead_to_memories(stack: HttpStack, browser: Browser) -> None:
    for text, kind, tag in (("Tea is green", "fact", "tea"), ("We drink tea at four", "decision", "tea")):
        await stack.engine.remember(RememberRequest(text=text, kind=kind, tags=(tag,), intent="new"), who=ME)
    page = await browser.open("/ui/browse")
    assert re.search(r"Kinds\s+decision 1\s+fact 1", page.text)
    for link, shown in (("/ui/search?kind=fact", 1), ("/ui/search?tag=tea", 2), ("/ui/search?agent=ada", 2)):
        assert link in page.links
        await browser.open(link)
        assert browser.last is not None
        assert browser.last.text.count('class="hit"') == shown
    assert "decision" not in (await browser.open("/ui/browse", by="tag")).text
    assert "Tea is green" in (await browser.open("/ui/timeline")).text
    assert "Nothing in this time" in (await browser.open("/ui/timeline", until="2020-01-01")).text
    await browser.open("/ui/timeline", until="soon", status=422)


async def test_a_reader_sees_no_forms_and_can_send_none(stack: HttpStack, browser: Browser) -> None:
    made = await stack.engine.remember(RememberRequest(text="Tea is green"), who=ME)
    guest = await stack.token("guest", "default", access="read")
    await browser.send("/ui/login", token=guest.secret)
    page = await browser.open("/ui/memory", id=made.id)
    assert "Edit" not in page.text
    assert "Forget" not in page.text
    await browser.send("/ui/forget", id=made.id, status=403)
    await browser.open("/ui/edit", id=made.id, status=403)
    assert "/ui/health" not in page.links
    assert (
        "health is for those who change the memory, and you may only read it"
        in (await browser.open("/ui/health", status=403)).text
    )
