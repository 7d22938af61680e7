"""Two repositories in one store, as agents see them: the caller's project first, others marked."""

import pytest
from mcp import Client
from tests.surfaces.mcp.mcp_server import McpServer, call, open_server, text_of

from scrubjay.model.memory import Json
from scrubjay.settings import Settings

_FACTS = (
    ("booking-api", "We use pnpm here; npm breaks the lock file."),
    ("payout-worker", "This repository installs its packages with npm."),
    ("payout-worker", "payout-worker listens on port 9094."),
    ("booking-api", "The admin page listens on port 8081."),
    ("", "Please answer in short sentences."),
)


async def _fill(server: McpServer) -> None:
    for project, text in _FACTS:
        async with server.client("auto", tools="core", context=server.context(project=project)) as client:
            await call(client, "remember", text=text, intent="new")


async def _passages(client: Client, query: str, **arguments: Json) -> list[tuple[str, str]]:
    hits = (await call(client, "recall", query=query, **arguments))["hits"]
    return [(hit.get("project", ""), hit["passage"]) for hit in hits]


async def test_the_callers_project_comes_first_and_another_is_marked(settings: Settings) -> None:
    async with open_server(settings) as server:
        await _fill(server)
        async with server.client("auto", tools="core", context=server.context(project="booking-api")) as client:
            query = "Which package manager installs the packages of this repository, npm or pnpm?"
            hits = await _passages(client, query)
            assert hits[0] == ("", "We use pnpm here; npm breaks the lock file.")
            assert {project for project, passage in hits if "installs" in passage} <= {"payout-worker"}
            answer = text_of(await client.call_tool("recall", {"query": "installs npm"}))
            foreign = [line for line in answer.splitlines() if "This repository installs" in line]
            assert all("project payout-worker" in line for line in foreign)


async def test_a_question_that_names_another_project_gets_it(settings: Settings) -> None:
    async with open_server(settings) as server:
        await _fill(server)
        async with server.client("auto", tools="core", context=server.context(project="booking-api")) as client:
            hits = await _passages(client, "On which port does Payout Worker listen?")
            assert hits[0] == ("payout-worker", "payout-worker listens on port 9094.")


@pytest.mark.parametrize("project", ["booking-api", ""])
async def test_a_question_across_all_projects_marks_each(settings: Settings, project: str) -> None:
    async with open_server(settings) as server:
        await _fill(server)
        async with server.client("auto", tools="core", context=server.context(project=project)) as client:
            hits = dict(await _passages(client, "which port listens", filters={"project": "*"}))
            assert hits == {
                "payout-worker": "payout-worker listens on port 9094.",
                "booking-api": "The admin page listens on port 8081.",
            }


async def test_facts_without_a_project_come_before_those_of_another(settings: Settings) -> None:
    async with open_server(settings) as server:
        for project, text in (("apollo", "Releases go out on Mondays."), ("", "Releases go out on Fridays.")):
            async with server.client("auto", tools="core", context=server.context(project=project)) as client:
                await call(client, "remember", text=text, intent="new")
        async with server.client("auto", tools="core", context=server.context(project="hermes")) as client:
            hits = await _passages(client, "When do releases go out?")
            assert hits[0] == ("", "Releases go out on Fridays.")
            assert hits[1:] in ([], [("apollo", "Releases go out on Mondays.")])


@pytest.mark.parametrize(
    "project", ["/home/ada/src/booking-api", "~/src/booking-api/", r"C:\src\booking-api", "Booking-API"]
)
async def test_the_path_of_a_repository_is_its_name(settings: Settings, project: str) -> None:
    async with open_server(settings) as server:
        await _fill(server)
        async with server.client("auto", tools="core", context=server.context(project=project)) as client:
            hits = await _passages(client, "which port is listened on?")
            assert hits[0] == ("", "The admin page listens on port 8081.")


async def test_a_project_of_blanks_is_none(settings: Settings) -> None:
    async with open_server(settings) as server:
        await _fill(server)
        async with server.client("auto", tools="core", context=server.context(project="  ")) as client:
            assert ("payout-worker", "payout-worker listens on port 9094.") in await _passages(client, "port 9094")


async def test_two_owners_of_one_name_are_two_projects(settings: Settings) -> None:
    async with open_server(settings) as server:
        for project, text in (
            ("ada/site", "The site is built with Hugo."),
            ("bob/site", "The site is built with Jekyll."),
        ):
            async with server.client("auto", tools="core", context=server.context(project=project)) as client:
                await call(client, "remember", text=text, intent="new")
        async with server.client("auto", tools="core", context=server.context(project="bob/site")) as client:
            hits = await _passages(client, "What is the site built with?")
            assert hits[0] == ("", "The site is built with Jekyll.")
            assert ("", "The site is built with Hugo.") not in hits


async def test_what_is_pinned_for_another_project_stays_there(settings: Settings) -> None:
    async with open_server(settings) as server:
        async with server.client("auto", tools="core", context=server.context(project="apollo")) as client:
            await call(client, "remember", text="Never push to main on Fridays.", pinned=True)
            assert (await call(client, "recall", query="pushing"))["pinned"]
        async with server.client("auto", tools="core", context=server.context(project="hermes")) as client:
            assert "pinned" not in await call(client, "recall", query="pushing")
