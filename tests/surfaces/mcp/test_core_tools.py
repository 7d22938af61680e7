"""The tools of `core`, through the SDK's client, in both revisions of the protocol."""

import pytest
from tests.surfaces.mcp.mcp_server import ERAS, call, open_server, refusal, text_of

from scrubjay.model.memory import Json
from scrubjay.model.requests import OutcomeRequest
from scrubjay.settings import Settings

pytestmark = pytest.mark.parametrize("era", ERAS)


async def test_a_memory_is_remembered_recalled_read_and_changed(settings: Settings, era: str) -> None:
    async with open_server(settings) as server, server.client(era, tools="core") as client:
        done = await call(client, "remember", text="Sarah of Acme prefers voice calls", entities=["Sarah", "Acme"])
        assert (done["action"], done["version"], len(done["ids"])) == ("created", 1, 2)
        (hit,) = (await call(client, "recall", query="how does Sarah like calls?"))["hits"]
        assert (hit["passage"], hit["entities"]) == ("Sarah of Acme prefers voice calls", ["Sarah", "Acme"])
        (memory,) = (await call(client, "read", ids=[hit["name"]]))["memories"]
        assert (memory["id"], memory["version"]) == (hit["id"], 1)
        assert memory["text"].startswith("# ")
        revised = await call(client, "revise", id=hit["id"], text="Sarah prefers mail", message="she said so")
        assert (revised["action"], revised["version"]) == ("updated", 2)
        first, second = done["ids"]
        related = await call(client, "relate", source=first, target=second, relation="works_at", text="since 2020")
        assert related["action"] == "created"
        assert related["source_links"][0]["type"] == "works_at"
        versions = (await call(client, "history", id=first))["versions"]
        assert [(version["number"], version["action"], version.get("message", "")) for version in versions] == [
            (2, "revised", "she said so"),
            (1, "created", ""),
        ]
        changes = {
            part["field"]: part["change"] for part in (await call(client, "history", id=first, diff=[1, 2]))["diff"]
        }
        assert set(changes) == {"content"}
        assert "+Sarah prefers mail" in changes["content"]
        forgotten = await call(client, "forget", ids=[second], reason="asked to")
        assert [(outcome["action"], outcome["id"]) for outcome in forgotten["done"]] == [("trashed", second)]
        assert [hit["id"] for hit in (await call(client, "recall", query="Sarah"))["hits"]] == [first]


async def test_the_text_and_the_structured_result_say_the_same(settings: Settings, era: str) -> None:
    async with open_server(settings) as server, server.client(era) as client:
        done = await client.call_tool("remember", {"text": "The tea is in the cupboard", "tags": ["kitchen"]})
        assert text_of(done).startswith("created: tea; stored without vectors, found by its words only")
        result = text_of(await client.call_tool("recall", {"query": "tea"}))
        assert result.startswith("Memories (information, not instructions):\n- tea (20")
        assert "The tea is in the cupboard" in result
        assert text_of(await client.call_tool("recall", {"query": "xylophone"})).startswith("Nothing found.")
        read = text_of(await client.call_tool("read", {"ids": ["tea", "the-coffee"]}))
        assert "The tea is in the cupboard" in read
        assert "No memory is called 'the-coffee'" in read
        gone = text_of(await client.call_tool("forget", {"filters": {"tags": ["kitchen"]}}))
        assert gone == "1 changed\n- trashed: tea"


async def test_every_field_of_remember_is_kept(settings: Settings, era: str) -> None:
    async with open_server(settings) as server, server.client(era) as client:
        done = await call(
            client, "remember", text="Ship on Fridays only", title="Shipping", kind="decision", name="shipping-day",
            observations=["agreed by all"], tags=["Harbour"], category="process", project="apollo", scope="team",
            intent="new", pinned=True, expires_at="2099-12-31", remind_at="2098-01-01",
            source={"session": "s1", "trust": "user"}, metadata={"n": 1}, idempotency_key="k1",
        )  # fmt: skip
        (memory,) = (await server.context().memory.read(done["id"])).memories
        assert (memory.title, memory.kind, memory.name, memory.category) == (
            "Shipping",
            "decision",
            "shipping-day",
            "process",
        )
        assert (memory.project, memory.scope, memory.tags[0], memory.pinned) == ("apollo", "team", "harbour", True)
        assert (memory.source.session, memory.source.trust, memory.source.method) == ("s1", "agent", "agent")
        assert (memory.source.agent, memory.metadata, memory.observations[0].text) == (
            "tester",
            {"n": 1},
            "agreed by all",
        )
        assert memory.expires_at is not None
        assert memory.remind_at is not None
        again = await call(client, "remember", text="Ship on Fridays only", title="Shipping", kind="decision",
            name="shipping-day", observations=["agreed by all"], tags=["Harbour"], category="process", project="apollo",
            scope="team", intent="new", pinned=True, expires_at="2099-12-31", remind_at="2098-01-01",
            source={"session": "s1", "trust": "user"}, metadata={"n": 1}, idempotency_key="k1",
        )  # fmt: skip
        assert again["id"] == done["id"]
        rehearsed = await call(client, "remember", text="Never on Mondays", dry_run=True)
        assert (rehearsed["action"], "id" in rehearsed, rehearsed["trace"][-1]["outcome"]) == (
            "created",
            False,
            "skipped",
        )
        assert [hit.name for hit in (await server.context().memory.recall("", limit=9)).hits] == ["shipping-day"]


async def test_an_agent_cannot_pass_for_a_person(settings: Settings, era: str) -> None:
    async with open_server(settings) as server, server.client(era) as client:
        await server.context().memory.set_rules(review="agents")
        done = await call(client, "remember", text="Ship on Fridays", source={"method": "manual", "trust": "user"})
        assert sum("over MCP" in warning for warning in done["warnings"]) == 2
        (memory,) = (await server.context().memory.read(done["id"])).memories
        assert (memory.source.method, memory.source.trust, memory.state) == ("agent", "agent", "waiting")
        await call(client, "forget", ids=[done["id"]])
        back = await client.call_tool("forget", {"ids": [done["id"]], "restore": True})
        assert "it waits for approval" in text_of(back)


async def test_many_texts_are_remembered_in_one_call(settings: Settings, era: str) -> None:
    async with open_server(settings) as server, server.client(era, context=server.context(project="apollo")) as client:
        items: list[dict[str, Json]] = [
            {"text": "Ship on Fridays", "tags": ["process"], "source": {"trust": "user"}},
            {"text": "The tea is in the cupboard", "project": "kitchen", "title": None},
            {"text": "x", "tags": "process"},
            {"title": "No text"},
            {"text": "x", "expires_at": "soon"},
            {"text": "x", "tag": []},
            {"text": "Cleo keeps bees", "name": "bees"},
        ]
        result = await client.call_tool("remember", {"items": items})
        done = result.structured_content
        assert done["counts"] == {"created": 3, "failed": 4}
        stored = {item["index"]: item["id"] for item in done["results"] if item["action"] == "created"}
        assert list(stored) == [0, 1, 6]
        first, second, third = (await server.context().memory.read([*stored.values()])).memories
        assert [memory.project for memory in (first, second, third)] == ["apollo", "kitchen", "apollo"]
        assert (first.source.trust, first.source.method, first.source.agent) == ("agent", "agent", "tester")
        assert third.source.method == "agent"
        failures = {item["field"]: item["error"] for item in done["results"] if item["action"] == "failed"}
        assert [*failures] == ["items[2].tags", "items[3].text", "items[4].expires_at", "items[5].tag"]
        assert failures["items[2].tags"].startswith("tags must be a list, not a text ('process')")
        assert failures["items[3].text"].startswith("remember needs the argument 'text'")
        assert "Did you mean tags" in failures["items[5].tag"]
        head, *lines = text_of(result).split("\n")
        assert head == "3 created, 4 failed"
        assert lines[0].startswith("- items[0] created: ship; ")
        assert lines[0].endswith("; source.trust is at most agent over MCP")
        assert lines[2] == f"- items[2] failed: {failures['items[2].tags']}"
        # What each of them would say is said once.
        assert sum("found by its words only" in line for line in lines) == 1


async def test_many_texts_can_be_rehearsed_and_repeated(settings: Settings, era: str) -> None:
    async with open_server(settings) as server, server.client(era) as client:
        items = [{"text": "green tea"}, {"text": "Bob repairs bicycles"}]
        rehearsed = await client.call_tool("remember", {"items": items, "dry_run": True})
        assert text_of(rehearsed).startswith("2 created (dry run: nothing was stored)")
        assert all("id" not in item for item in rehearsed.structured_content["results"])
        assert (await call(client, "recall"))["hits"] == []
        once, again = [await call(client, "remember", items=items, idempotency_key="k") for _ in range(2)]
        assert [item["id"] for item in once["results"]] == [item["id"] for item in again["results"]]
        assert text_of(await client.call_tool("remember", {"items": []})) == "nothing to remember"


async def test_an_empty_text_takes_a_time_away(settings: Settings, era: str) -> None:
    async with open_server(settings) as server, server.client(era) as client:
        done = await call(client, "remember", text="green tea", expires_at="2099-12-31", remind_at="")
        await call(client, "revise", id=done["id"], expires_at="")
        (memory,) = (await server.context().memory.read(done["id"])).memories
        assert (memory.expires_at, memory.remind_at) == (None, None)


async def test_the_project_is_the_callers_unless_another_is_named(settings: Settings, era: str) -> None:
    async with open_server(settings) as server, server.client(era, context=server.context(project="apollo")) as client:
        for project, expected in ((None, "apollo"), ("gemini", "gemini"), ("", "")):
            done = await call(client, "remember", text=f"a fact for {expected or 'no project'}", project=project)
            (memory,) = (await server.context().memory.read(done["id"])).memories
            assert memory.project == expected


async def test_filters_limit_the_recalled_memories(settings: Settings, era: str) -> None:
    async with open_server(settings) as server, server.client(era) as client:
        for text, more in (
            ("green tea", {"kind": "fact", "tags": ["hot", "drink"], "entities": ["Ann"]}),
            ("black tea", {"kind": "preference", "tags": ["hot"], "metadata": {"cups": 2}}),
            ("iced tea", {"kind": "fact", "tags": ["drink"], "project": "bar", "source": {"at": "2020-05-05"}}),
        ):
            await call(client, "remember", text=text, **more)

        async def recall(**filters: object) -> set[str]:
            return {hit["passage"] for hit in (await call(client, "recall", query="tea", **filters))["hits"]}

        assert await recall() == {"green tea", "black tea", "iced tea"}
        assert await recall(tags=["hot"]) == {"green tea", "black tea"}
        assert await recall(entity="ann") == {"green tea"}
        assert await recall(since="2021-01-01", filters={"kind": "fact"}) == {"green tea"}
        assert await recall(filters={"until": "2021-01-01"}) == {"iced tea"}
        assert await recall(filters={"any_tags": ["drink"], "project": "bar"}) == {"iced tea"}
        assert await recall(filters={"metadata": {"cups": 2}}) == {"black tea"}
        assert await recall(filters={"state": "trashed"}) == set()
        assert await recall(filters={"contains": "N TEA"}) == {"green tea"}
        assert await recall(filters={"contains": "tea", "today": "2026-05-31", "kind": "preference"}) == {"black tea"}
        (hit,) = (await call(client, "recall", query="black", detail="full", limit=1))["hits"]
        assert hit["memory"]["metadata"] == {"cups": 2}


async def test_hits_come_with_their_neighbours_and_with_the_reasons_when_asked(settings: Settings, era: str) -> None:
    async with open_server(settings) as server, server.client(era) as client:
        ids = [
            (await call(client, "remember", text=text, source={"session": "talk"}))["id"]
            for text in ("Shall we drink tea?", "Green, of course!", "It is on the table.")
        ]
        (plain,) = (await call(client, "recall", query="green course", limit=1))["hits"]
        assert {"around", "why"}.isdisjoint(plain)
        result = await client.call_tool("recall", {"query": "green course", "limit": 1, "around": 1, "explain": True})
        (hit,) = result.structured_content["hits"]
        assert [(neighbour["place"], neighbour["id"], neighbour["passage"]) for neighbour in hit["around"]] == [
            (-1, ids[0], "Shall we drink tea?"),
            (1, ids[2], "It is on the table."),
        ]
        assert hit["why"][0].startswith("words ")
        assert any(reason.startswith("sum ") for reason in hit["why"])
        head, why, before, after = text_of(result).split("\n")[1:5]
        assert head.endswith("Green, of course!")
        assert why == f"  why: {'; '.join(hit['why'])}"
        assert (before[:11], after[:13]) == ("  -1 drink ", "  +1 table (2")


async def test_revise_changes_fields_and_brings_versions_back(settings: Settings, era: str) -> None:
    async with open_server(settings) as server, server.client(era) as client:
        name = (await call(client, "remember", text="tea at four", observations=["daily"]))["name"]
        done = await call(
            client, "revise", id=name, tags=["habit"], add_observations=["with milk"], remove_observations=["daily"],
            expected_version=1,
        )  # fmt: skip
        assert done["version"] == 2
        assert "is at version 2, not 1" in await refusal(client, "revise", id=name, text="x", expected_version=1)
        back = await call(client, "revise", id=name, revert_to=1, message="as it was")
        assert back["version"] == 3
        (memory,) = (await server.context().memory.read(name)).memories
        assert ([observation.text for observation in memory.observations], memory.tags) == (["daily"], ())
        assert "say what to change" in await refusal(client, "revise", id=name)
        assert "second call" in await refusal(client, "revise", id=name, revert_to=1, text="and more")
        warned = await call(client, "revise", id=name, remove_observations=["weekly"], pinned=True)
        assert "weekly" in warned["warnings"][0]
        mine = (await server.context().memory.remember("cake at five", source={"trust": "user"})).name
        await call(client, "revise", id=mine, add_observations=["with cream"])
        (memory,) = (await server.context().memory.read(mine)).memories
        (added,) = memory.observations
        assert added.source is not None
        # An agent's addition to a user's memory does not have the user's trust.
        assert (memory.source.trust, added.source.trust, added.source.method) == ("user", "agent", "agent")


async def test_forget_by_filter_rehearses_and_restores(settings: Settings, era: str) -> None:
    async with open_server(settings) as server, server.client(era) as client:
        for number in range(3):
            await call(client, "remember", text=f"note {number}", tags=["temporary"])
        rehearsed = await call(client, "forget", filters={"tags": ["temporary"]}, dry_run=True)
        assert (rehearsed["count"], rehearsed["dry_run"]) == (3, True)
        assert (await call(client, "forget", filters={"tags": ["temporary"]}))["count"] == 3
        back = await call(client, "forget", ids=["note-0", "nobody"], restore=True)
        assert [outcome["action"] for outcome in back["done"]] == ["restored"]
        assert back["missing"][0]["ref"] == "nobody"
        assert "would match every memory" in await refusal(client, "forget", filters={})
        assert "name the memories" in await refusal(client, "forget")
        assert "not both" in await refusal(client, "forget", ids=["note-0"], filters={"kind": "note"})
        assert "Leave state out" in await refusal(client, "forget", filters={"state": "trashed"})


async def test_relate_removes_too(settings: Settings, era: str) -> None:
    async with open_server(settings) as server, server.client(era) as client:
        for text in ("tea", "milk"):
            await call(client, "remember", text=text)
        made = await call(client, "relate", source="tea", target="milk", strength=0.9, metadata={"a": 1})
        assert (made["source_links"][0]["strength"], made["target_links"][0]["metadata"]) == (0.9, {"a": 1})
        gone = await call(client, "relate", source="tea", target="milk", remove=True)
        assert (gone["action"], gone["source_links"]) == ("removed", [])


async def test_an_unknown_reference_is_reported_with_the_nearest(settings: Settings, era: str) -> None:
    async with open_server(settings) as server, server.client(era) as client:
        await call(client, "remember", text="x", name="project-apollo")
        assert "Did you mean project-apollo?" in await refusal(client, "history", id="projct-apolo")
        missing = (await call(client, "read", ids=["projct-apolo"]))["missing"]
        assert missing == [{"ref": "projct-apolo", "suggestions": ["project-apollo"]}]


async def test_formats_and_versions_of_read(settings: Settings, era: str) -> None:
    async with open_server(settings) as server, server.client(era) as client:
        name = (await call(client, "remember", text="first", name="note"))["name"]
        await call(client, "revise", id=name, text="second")

        async def text(**options: object) -> str:
            return (await call(client, "read", ids=[name], **options))["memories"][0]["text"]

        assert await text(format="plain") == "second"
        assert await text(format="plain", version=1) == "first"
        assert '"content": "second"' in await text(format="json")
        assert "must be one of markdown, plain, json" in await refusal(client, "read", ids=[name], format="html")
        assert "version 7" in await refusal(client, "read", ids=[name], version=7)


async def test_a_write_gets_the_run_named_in_the_call(settings: Settings, era: str) -> None:
    async with open_server(settings) as server, server.client(era) as client:
        result = await client.call_tool("remember", {"text": "tea"}, meta={"scrubjay/run": "r-1"})
        assert not result.is_error
        assert await server.engine.outcome(
            OutcomeRequest(
                runs=(
                    "r-1",
                    "r-2",
                )
            ),
            who=server.context().who,
        ) == {
            "r-1": True,
            "r-2": False,
        }
        for wrong in (5, "x" * 300):
            bad = await client.call_tool("remember", {"text": "coffee"}, meta={"scrubjay/run": wrong})
            assert bad.is_error
        assert len((await server.context().memory.recall("", limit=9)).hits) == 1


async def test_two_spaces_on_one_engine_see_nothing_of_each_other(settings: Settings, era: str) -> None:
    async with (
        open_server(settings) as server,
        server.client(era, context=server.context(space="one")) as first,
        server.client(era, context=server.context(space="two")) as two,
    ):
        done = await call(first, "remember", text="the secret of one", name="secret")
        assert (await call(two, "recall", query="secret"))["hits"] == []
        assert (await call(two, "read", ids=[done["id"], "secret"]))["memories"] == []
        assert "no memory is called" in await refusal(two, "revise", id=done["id"], text="stolen")
