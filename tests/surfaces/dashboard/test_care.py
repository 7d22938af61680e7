"""Pages of what waits for a person: each is settled with one form, and taken back with another."""

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

from tests.surfaces.dashboard.browser import Browser
from tests.surfaces.dashboard.conftest import settings_for
from tests.surfaces.dashboard.test_changes import ME, last_run
from tests.surfaces.rest.http_stack import HttpStack, open_stack

from scrubjay.model.caller import Caller
from scrubjay.model.document import LLM_USE, Document
from scrubjay.model.requests import (
    ConflictsRequest,
    RememberRequest,
    SaveSkillRequest,
    ScanConflictsRequest,
    ScanLaterRequest,
    SetRulesRequest,
)
from scrubjay.service import LocalService
from scrubjay.surfaces.daemon.alerts import look_at_health

BERLIN, PARIS = "Ann lives in Berlin near the old harbour.", "Ann lives in Paris near the old harbour."


async def test_a_conflict_is_settled_once_and_reopened(stack: HttpStack, browser: Browser) -> None:
    engine = stack.engine
    for text, name in ((BERLIN, "berlin"), (PARIS, "paris")):
        await engine.remember(RememberRequest(text=text, name=name, intent="new"), who=ME)
    await engine.scan_conflicts(ScanConflictsRequest(limit=1), who=ME)
    (conflict,) = await engine.conflicts(ConflictsRequest(), who=ME)
    page = await browser.open("/ui/conflicts")
    for shown in (BERLIN, PARIS, "A holds", "B holds", "Both hold"):
        assert shown in page.text
    page = await browser.send("/ui/resolve", id=conflict.id, strategy="supersede", keep=conflict.memory.id)
    assert "The conflict is settled" in page.text
    assert BERLIN not in page.text
    run = last_run(browser)
    # A second person had the same page open.
    page = await browser.send("/ui/resolve", id=conflict.id, strategy="ignore", status=409)
    assert conflict.id in page.text
    assert "supersede" in (await browser.open("/ui/conflicts?status=resolved")).text
    page = await browser.send("/ui/undo", run=run, back="/ui/conflicts")
    assert BERLIN in page.text


async def test_waiting_memories_are_approved_and_duplicates_merged(stack: HttpStack, browser: Browser) -> None:
    engine = stack.engine
    await engine.set_rules(SetRulesRequest(review="all", gate="off"), who=ME)
    tea, rum = [
        await engine.remember(RememberRequest(text=text), who=ME)
        for text in ("Green tea is served at four in the garden", "Rum is served at five")
    ]
    assert "Rum is served" in (await browser.open("/ui/inbox")).text
    assert "Approved" in (await browser.send("/ui/decide", id=tea.id, decision="approve")).text
    page = await browser.send("/ui/decide", id=rum.id, decision="decline")
    assert "Nothing waits" in page.text
    page = await browser.send("/ui/undo", run=last_run(browser), back="/ui/inbox")
    assert "Rum is served" in page.text
    await browser.send("/ui/decide", id="nothing-like-it", decision="approve", status=404)

    await engine.set_rules(SetRulesRequest(review="none", conflicts="off"), who=ME)
    await engine.remember(RememberRequest(text="Green tea is served at four in the garden", intent="new"), who=ME)
    await browser.open("/ui/duplicates")
    page = await browser.send("/ui/duplicates")
    assert "2 memories" in page.text
    page = await browser.send("/ui/duplicates", merge=tea.id)
    assert "Merged into one memory" in page.text
    run = last_run(browser)
    assert "Nothing was merged" in (await browser.send("/ui/duplicates", merge=tea.id, status=409)).text
    await browser.send("/ui/undo", run=run, back="/ui/duplicates")
    assert "2 memories" in (await browser.send("/ui/duplicates")).text


async def test_curation_jobs_and_the_space_are_shown(stack: HttpStack, browser: Browser) -> None:
    await stack.engine.remember(RememberRequest(text="Tea is green", tags=("tea",)), who=ME)
    assert "Not yet" in (await browser.open("/ui/curation")).text
    assert "The plan" in (await browser.send("/ui/curate", plan="yes", job="tags")).text
    assert "The run is complete" in (await browser.send("/ui/curate", plan="no", job="tiers")).text
    await browser.send("/ui/curate", plan="yes", job="nothing", status=422)
    job = await stack.engine.scan_later(ScanLaterRequest(after=3600), who=ME)
    assert "waiting" in (await browser.open("/ui/jobs")).text
    await browser.send("/ui/cancel-job", id=job.id)
    await browser.send("/ui/retry-job", id="no-such-job", status=404)
    page = await browser.open("/ui/space")
    assert "no token is needed" in page.text
    assert "schema" in page.text
    assert "scrubjay open --owner" in page.text


async def test_a_skill_is_run_with_its_arguments(stack: HttpStack, browser: Browser) -> None:
    service = LocalService.over(stack.engine)
    source = 'def double(number: int):\n    """Double a <b>number</b>."""\n    return {"doubled": number * 2}\n'
    saved = SaveSkillRequest.of(name="double", source=source, example={"number": 3})
    await service.call(saved, who=Caller(agent="ada"))
    assert "double(number: int)" in (await browser.open("/ui/skills")).text
    assert '"number": 3' in (await browser.open("/ui/skill", name="double")).text
    page = await browser.send("/ui/run-skill", name="double", arguments='{"number": 21}')
    assert '"doubled": 42' in page.text
    for arguments, problem in (("[" * 9999, "not JSON"), ("[1]", "must be an object"), ('{"n": 1}', "no parameter")):
        page = await browser.send("/ui/run-skill", name="double", arguments=arguments, status=422)
        assert problem in page.text
        assert arguments[:20] in page.text


async def test_the_page_of_health_shows_figures_agents_and_alerts_and_each_page_warns(home: Path) -> None:
    async with (
        open_stack(settings_for(home, alerts="free_mb=999999999999")) as stack,
        Browser(stack.address) as browser,
    ):
        assert "Nothing was written since" in (await browser.open("/ui/health", space="empty")).text
        for number, agent in enumerate(("cursor", "<b>codex</b>", "cursor")):
            text = f"The kiln of the harbour is fired on day {number} of the month."
            await stack.engine.remember(RememberRequest(text=text, intent="new"), who=replace(ME, agent=agent))
        page = await browser.open("/ui/health", days="7")
        for shown in (": 3 created", "<b>codex</b>", "cursor", "free on the disk", "MB are free"):
            assert shown in page.text
        # Days before this one: how long requests took, and what the language model cost.
        assert stack.engine.reporter is not None
        stack.engine.reporter.latency.counts = lambda: {"recall": [0, 4, *[0] * 11]}
        for ago in (2, 1):
            await stack.engine.reporter.latency.save(now=stack.engine.clock.now() - timedelta(days=ago))
            stack.engine.reporter.latency.counts = lambda: {"recall": [0, 9, *[0] * 11]}
        value = {"calls": 7, "tokens": 900, "cost": 0.0123}
        at = stack.engine.clock.now()
        await stack.store.put_document(
            Document(space="", collection=LLM_USE, key=f"{at:%Y-%m-%d}", value=value, at=at), base=None
        )
        page = await browser.open("/ui/health", days="7")
        for shown in ("recall, p95 in ms", "Calls of the language model: 7", "Cost of the language model: 0.0123"):
            assert shown in page.text
        # The other pages show what the daemon saw when it last looked.
        assert "1 alert:" not in (await browser.open("/ui/timeline")).text
        await look_at_health(stack.engine, webhook=None, publish=lambda _: None)
        assert "1 alert:" in (await browser.open("/ui/timeline")).text
        for days in ("soon", "4000"):
            await browser.open("/ui/health", days=days, status=422)
