"""The tools of `notes`, through the SDK's client, in both revisions of the protocol."""

import json

import pytest
from tests.surfaces.mcp.expensive_texts import EXPENSIVE
from tests.surfaces.mcp.mcp_server import ERAS, call, open_server, refusal, text_of
from tests.surfaces.mcp.token_count import count_tokens

from scrubjay.settings import Settings

TITLE = "Meeting with John about Q4 goals"
CONTENT = "# Q4 Goals Discussion\n\n**Key Points:**\n- Revenue target: $2M\n- New product launch in March\n"


@pytest.mark.parametrize("era", ERAS)
async def test_a_note_is_written_read_edited_linked_and_found(settings: Settings, era: str) -> None:
    async with open_server(settings) as server, server.client(era, tools="notes") as client:
        arguments = {
            "title": TITLE,
            "content": CONTENT,
            "tags": ["meeting", "goals", "q4"],
            "category": "work/meetings",
        }
        made = await call(client, "write_mem", **arguments)
        assert (made["action"], made["version"], made["created_at"][-1]) == ("created", 1, "Z")
        # Without a folder of notes there is no file to name.
        assert "file_path" not in made
        (memory,) = (await server.context().memory.read(made["id"])).memories
        assert (memory.content, memory.category, memory.source.method) == (CONTENT, "work/meetings", "agent")
        read = await call(client, "read_mem", identifier="meeting-with-john-q4-goals")
        assert (read["id"], read["content"], read["tags"], read["links"]) == (
            made["id"],
            CONTENT,
            arguments["tags"],
            [],
        )
        assert read["last_reviewed"] == read["created_at"] == made["created_at"]
        assert (await call(client, "read_mem", identifier="meeting john q4"))["id"] == made["id"]
        plain = await call(client, "read_mem", identifier=TITLE, format="plain")
        assert plain["content"].splitlines()[2:] == [
            "Key Points:",
            "",
            "- Revenue target: $2M",
            "- New product launch in March",
        ]
        whole = json.loads((await call(client, "read_mem", identifier=TITLE, format="json"))["content"])
        assert (whole["id"], whole["content"]) == (made["id"], CONTENT)
        other = await call(client, "write_mem", title="Project Ideas", content="Keep bees by radio.", category="home")
        linked = await call(client, "link_mem", source_id=made["id"], target_id="Project Ideas", link_text="Ideas")
        assert (linked["success"], linked["action"], linked["source_links"]) == (True, "created", [other["id"]])
        assert linked["markdown_link"] == f"[[home-project-ideas-{other['id']}|Ideas]]"
        changed = await call(client, "edit_mem", id=made["id"], content=f"{CONTENT}- Budget", tags=["q4", "budget"])
        assert (changed["success"], changed["version"], changed["updated_at"] > made["created_at"]) == (True, 2, True)
        (hit,) = (await call(client, "search_mem", query="revenue", category="work", tags=["budget"], limit=5))[
            "results"
        ]
        assert (hit["id"], hit["title"], "**Revenue**" in hit["snippet"]) == (made["id"], TITLE, True)
        assert (await call(client, "search_mem", query="revenue", category="home"))["results"] == []
        gone = await call(client, "unlink_mem", source_id=other["id"], target_id=made["id"])
        assert (gone["success"], gone["action"], gone["source_links"], gone["target_links"]) == (
            True, "removed", [], []
        )  # fmt: skip
        odd = await call(client, "link_mem", source_id=made["id"], target_id=other["id"], link_text="a [[b]] |c]")
        assert odd["markdown_link"] == f"[[home-project-ideas-{other['id']}|a &#91;[b&#93;] |c&#93;]]"
        for form in ("iso", "locale", "timestamp", "date_only"):
            now = await call(client, "get_current_date", format=form, timezone="Europe/Berlin")
            assert (now["format"], now["timezone"]) == (form, "Europe/Berlin")
            assert now["date"] in (now["iso"], str(now["timestamp"]), now["iso"][:10]) or now["weekday"] in now["date"]


async def test_a_note_is_never_merged_and_similar_memories_are_reported(settings: Settings) -> None:
    async with open_server(settings) as server, server.client("auto", tools="notes") as client:
        first = await call(client, "write_mem", title=TITLE, content=CONTENT)
        result = await client.call_tool("write_mem", {"title": TITLE, "content": CONTENT})
        again = result.structured_content
        assert again is not None
        assert again["id"] != first["id"]
        assert [(similar["id"], similar["similarity"]) for similar in again["similar"]] == [(first["id"], 1.0)]
        assert f"like {first['name']}" in text_of(result)
        texts = await refusal(client, "read_mem", identifier=TITLE)
        assert first["id"] in texts
        assert again["id"] in texts


async def test_a_long_note_is_returned_in_parts_within_the_budget(settings: Settings) -> None:
    long = "".join(
        f"## Part {number}\n\nThe jay hid acorn {number} under the oak of the mill.\n\n" for number in range(200)
    )
    async with open_server(settings) as server, server.client("auto", tools="notes") as client:
        made = await call(client, "write_mem", title="Acorns", content=long, tags=["acorns"])
        parts: list[str] = []
        cursor = ""
        arguments: dict[str, object] = {"identifier": "Acorns", "max_tokens": 1_500}
        while not parts or cursor:
            result = await client.call_tool("read_mem", {**arguments, **({"cursor": cursor} if cursor else {})})
            structured = result.structured_content
            assert structured is not None
            assert count_tokens(text_of(result)) + count_tokens(json.dumps(structured, ensure_ascii=False)) <= 1_700
            parts.append(structured["content"])
            cursor = structured.get("cursor", "")
        assert "".join(parts) == long
        assert len(parts) > 4
        # By default a read returns as much as possible: an agent that rewrites a note should have seen all of it.
        most = await call(client, "read_mem", identifier="Acorns")
        assert len(most["content"]) > 4 * len(parts[0])
        arguments["max_tokens"] = 400
        first = (await call(client, "read_mem", **arguments))["cursor"]
        await call(client, "edit_mem", id=made["id"], tags=["oak"])
        assert "has changed since" in await refusal(client, "read_mem", **arguments, cursor=first)
        for number in range(20):
            await call(client, "write_mem", title=f"Jay {number}", content=f"Jay {number}: {long[:300]}")
        result = await client.call_tool("search_mem", {"query": "jay", "limit": 20})
        assert count_tokens(text_of(result)) + count_tokens(json.dumps(result.structured_content)) <= 1_700
        assert "there are more" in text_of(result)
        # By default all hits are listed, if necessary shortened.
        assert len((await call(client, "search_mem", query="jay"))["results"]) == 10
        more = await call(client, "search_mem", query="jay", limit=20, max_tokens=8_000)
        assert (len(more["results"]), "updated_at" in more["results"][0]) == (20, True)


async def test_no_kind_of_text_exceeds_the_budget(settings: Settings) -> None:
    async with open_server(settings) as server, server.client("auto", tools="notes") as client:
        for kind, text in EXPENSIVE.items():
            dear = (text * 3_000)[:6_000]
            made = await call(client, "write_mem", title=f"{kind} {dear}"[:300], content=dear, tags=[kind])
            await server.context().memory.revise(
                made["id"], add_observations=[f"{number} {dear[:200]}" for number in range(80)]
            )
            for max_tokens in (300, 1_500, 8_000):
                result = await client.call_tool("read_mem", {"identifier": made["id"], "max_tokens": max_tokens})
                # Without spaces, as it is sent.
                structured = json.dumps(result.structured_content, ensure_ascii=False, separators=(",", ":"))
                assert count_tokens(text_of(result)) + count_tokens(structured) <= max_tokens, kind


async def test_an_error_is_a_clear_message(settings: Settings) -> None:
    async with open_server(settings) as server, server.client("auto", tools="notes") as client:
        made = await call(client, "write_mem", title=TITLE, content=CONTENT)
        for tool, arguments, words in (
            ("write_mem", {"title": " ", "content": "x"}, "a note needs a title"),
            ("write_mem", {"title": "x", "content": " "}, "a note needs content"),
            ("write_mem", {"title": "x" * 301, "content": "x"}, "title has 301 characters"),
            ("write_mem", {"title": "x"}, "needs the argument 'content'"),
            ("write_mem", {"title": "x", "content": "", "template": "nothing"}, "there is no template"),
            ("write_mem", {"title": "x", "content": "a\0"}, "content has a NUL"),
            ("edit_mem", {"id": made["id"], "content": "a\0"}, "content has a NUL"),
            ("edit_mem", {"id": "nobody", "title": "x"}, "Find it with `search_mem`"),
            ("link_mem", {"source_id": "nobody", "target_id": made["id"]}, "Find it with `search_mem`"),
            ("unlink_mem", {"source_id": made["id"], "target_id": "Meting with Jon about Q4 goals"}, "Did you mean"),
            ("read_mem", {"identifier": " "}, "the identifier is empty"),
            ("read_mem", {"identifier": "Meeting with Jane"}, "no note is called"),
            ("read_mem", {"identifier": "../../etc/passwd"}, "no note is called"),
            ("edit_mem", {"id": made["id"]}, "say what to change"),
            ("edit_mem", {"id": made["id"], "content": ""}, "leave nothing of the note. Give it some content"),
            ("edit_mem", {"id": made["id"], "title": "y", "expected_version": 7}, "is at version 1, not 7"),
            ("link_mem", {"source_id": made["id"], "target_id": made["id"]}, "cannot be related to itself"),
            ("get_current_date", {"timezone": "Nowhere"}, "there is no time zone"),
        ):
            assert words in await refusal(client, tool, **arguments), (tool, arguments)
        await server.context().memory.set_rules(never=["codeword"])
        result = await client.call_tool("write_mem", {"title": "Secret", "content": "the codeword is heron"})
        assert (result.is_error, result.structured_content) != (True, None)
        assert result.structured_content is not None
        assert result.structured_content["action"] == "rejected"
