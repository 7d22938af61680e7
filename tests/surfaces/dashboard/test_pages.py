"""What a person sees on the pages, without JavaScript."""

from itertools import pairwise

from tests.surfaces.dashboard.browser import Browser
from tests.surfaces.rest.http_stack import HttpStack

from scrubjay.model.caller import Caller
from scrubjay.model.requests import RelateRequest, RememberRequest, ReviseRequest

ME = Caller(agent="ada")


async def test_a_memory_is_searched_read_and_followed_through_its_history(stack: HttpStack, browser: Browser) -> None:
    engine = stack.engine
    sarah = await engine.remember(
        RememberRequest(
            text="Sarah prefers *voice calls* to mail", title="How to reach Sarah", entities=("Sarah",),
            observations=("She is in on Mondays",), tags=("contact",), project="office",
        ),
        who=ME,
    )  # fmt: skip
    paris = await engine.remember(RememberRequest(text="The office in Paris closes at six", intent="new"), who=ME)
    await engine.relate(RelateRequest(source=sarah.id, target=paris.id, relation="works_at"), who=ME)
    await engine.revise(ReviseRequest(id=sarah.id, text="Sarah prefers *text messages* to mail"), who=ME)

    latest = await browser.open("/")
    assert "How to reach Sarah" in latest.text
    assert browser.last is not None
    assert len(browser.last.content) < 20_000
    hits = await browser.open("/ui/search", q="how to reach sarah")
    assert "Why: words reach, sarah" in hits.text
    assert "Paris" not in hits.text
    assert f"/ui/memory?id={sarah.id}" in hits.links
    assert "Paris" not in (await browser.open("/ui/search", tag="contact")).text
    assert "Nothing here seems to answer" in (await browser.open("/ui/search", q="zeppelin")).text

    page = await browser.open("/ui/memory", id=sarah.id)
    for shown in ("text messages", "She is in on Mondays", "contact", "office", "works_at →", "ada", "version 2"):
        assert shown in page.text
    assert f"/ui/memory?id={paris.id}" in page.links
    assert browser.last is not None
    assert "<em>text messages</em>" in browser.last.text

    assert "Compare" in (await browser.open("/ui/history", id=sarah.id)).text
    await browser.open("/ui/history", id=sarah.id, a="1", b="2")
    assert "<del>-Sarah prefers *voice calls* to mail</del>" in browser.last.text
    assert "<ins>+Sarah prefers *text messages* to mail</ins>" in browser.last.text

    # Another space shows nothing of it, and keeps its name in its links.
    other = await browser.open("/", space="other")
    assert "No memories yet" in other.text
    await browser.open("/ui/memory", id=sarah.id, space="other", status=404)
    assert "no such page" in (await browser.open("/ui/nothing", status=404)).text
    await browser.open("/ui/history", id=sarah.id, a="many", b="2", status=422)


async def test_every_list_has_pinned_memories_and_a_search_shows_those_that_meet_its_conditions(
    stack: HttpStack, browser: Browser
) -> None:
    for text, tag in (("The gauge of the boiler is red", "pins"), ("The gauge of the rails is wide", "rails")):
        await stack.engine.remember(RememberRequest(text=text, tags=(tag,), pinned=True, intent="new"), who=ME)
    ann = RememberRequest(text="Ann reads the gauge", entities=("Ann Keller",), pinned=True, intent="new")
    await stack.engine.remember(ann, who=ME)
    for page in ("/", "/ui/timeline", "/ui/search?tier=working"):
        listed = (await browser.open(page)).text
        assert "boiler" in listed, page
        assert "rails" in listed, page
    listed = ""
    for page in ("/ui/search?tag=pins", "/ui/search?tag=pins&q=gauge"):
        listed = (await browser.open(page)).text
        assert "boiler" in listed, page
        assert "rails" not in listed, page
    assert "1 pinned memory" in listed
    about_ann = (await browser.open("/ui/search", q="gauge", entity="Ann")).text
    assert "Ann reads the gauge" in about_ann
    assert "boiler" not in about_ann
    assert "Besides what is pinned, nothing here" in listed
    assert "Nothing here seems to answer" in (await browser.open("/ui/search", q="gauge", tag="nothing")).text


async def test_the_graph_of_a_neighbourhood_has_its_nodes_and_edges(stack: HttpStack, browser: Browser) -> None:
    made = [
        await stack.engine.remember(
            RememberRequest(text=f"Number {n}", name=f"n{n}", intent="new", tags=("x",)), who=ME
        )
        for n in range(5)
    ]
    for one_end, other_end in pairwise(made[:4]):
        await stack.engine.relate(RelateRequest(source=one_end.id, target=other_end.id, relation="next"), who=ME)
    for query, nodes in (
        ({"id": "n0", "depth": "1"}, 2),
        ({"id": "n0", "depth": "3"}, 4),
        ({"tag": "x"}, 5),
        ({"tag": "y"}, 0),
    ):
        data = (await browser.web.get("/ui/graph-data", params=query)).json()
        assert (len(data["nodes"]), len(data["edges"])) == (nodes, max(0, min(nodes, 4) - 1))
    page = await browser.open("/ui/graph", id="n0", depth="2")
    assert "3 memories, 2 links" in page.text
    await browser.open("/ui/graph", id="nothing-like-it", status=404)


async def test_a_text_of_a_megabyte_is_shown_as_it_is(stack: HttpStack, browser: Browser) -> None:
    made = await stack.engine.remember(RememberRequest(text="# long\n" + "all work and no play " * 47_000), who=ME)
    page = await browser.open("/ui/memory", id=made.id)
    assert "987,00" in page.text
    assert page.text.count("no play") >= 47_000
