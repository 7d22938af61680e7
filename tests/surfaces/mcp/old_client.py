# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false
"""A client on the SDK before 2.0, in a process of its own: prints its results as JSON.

Run it with the folder of that SDK on the path: its name is the same as that of the current SDK.
"""

import asyncio
import json
import sys
from typing import Any

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamablehttp_client


async def try_session(session: Any) -> dict[str, Any]:
    initialized = await session.initialize()
    tools = await session.list_tools()
    done = await session.call_tool("remember", {"text": "the old client was here"})
    recalled = await session.call_tool("recall", {"query": "old client"})
    wrong = await session.call_tool("recall", {"query": 5})
    name = done.structuredContent["name"]
    resource = await session.read_resource(f"memory://default/{name}")
    prompts = await session.list_prompts()
    return {
        "server": initialized.serverInfo.name,
        "protocol": initialized.protocolVersion,
        "tools": [tool.name for tool in tools.tools],
        "passage": recalled.structuredContent["hits"][0]["passage"],
        "wrong": wrong.isError,
        "resource": resource.contents[0].text,
        "prompts": len(prompts.prompts),
    }


async def main() -> None:
    if sys.argv[1].startswith("http"):
        async with streamablehttp_client(sys.argv[1]) as (read, write, _), ClientSession(read, write) as session:
            print(json.dumps(await try_session(session)))  # noqa: T201
        return
    parameters = StdioServerParameters(command=sys.argv[1], args=sys.argv[2:])
    async with stdio_client(parameters) as (read, write), ClientSession(read, write) as session:
        print(json.dumps(await try_session(session)))  # noqa: T201


asyncio.run(main())
