"""An MCP server over the memory: tools, resources, prompts and completions for whoever is at the desk."""

import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import TypeVar, cast

from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel.server import Server
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    CompleteRequestParams,
    CompleteResult,
    DiscoverResult,
    EmptyResult,
    GetPromptRequestParams,
    GetPromptResult,
    ListPromptsResult,
    ListResourcesResult,
    ListResourceTemplatesResult,
    ListToolsResult,
    NotificationParams,
    PaginatedRequestParams,
    PromptsCapability,
    ReadResourceRequestParams,
    ReadResourceResult,
    RequestParams,
    SubscribeRequestParams,
    SubscriptionsListenRequestParams,
    SubscriptionsListenResult,
    ToolsCapability,
    UnsubscribeRequestParams,
)
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from scrubjay.errors import InvalidInput, ScrubjayError
from scrubjay.model.memory import Json
from scrubjay.ports import Progress
from scrubjay.surfaces.changes import ChangeBroadcaster
from scrubjay.surfaces.mcp import completions, prompts, resources
from scrubjay.surfaces.mcp.arguments import Checker
from scrubjay.surfaces.mcp.cursors import foreign, pack, unpack
from scrubjay.surfaces.mcp.progress import telling
from scrubjay.surfaces.mcp.protocol import INSTRUCTIONS, failure, listed, protocol_error, result
from scrubjay.surfaces.mcp.subscriptions import Wire, listen
from scrubjay.surfaces.mcp.suggestions import did_you_mean, nearest, shown
from scrubjay.surfaces.mcp.tool import Answer, CallLimiter, Tool, ToolContext
from scrubjay.surfaces.mcp.toolsets import resources_of
from scrubjay.version import VERSION

T = TypeVar("T")
Context = ServerRequestContext[Wire]
ContextOf = Callable[[Context], ToolContext]
"""Who calls, in which space, by the request itself."""

_log = logging.getLogger(__name__)
_PAGE = 50
_BEAT = 5.0
_LONGEST_RUN = 200
RUN = "scrubjay/run"
"""The key in a call's `_meta` that names the run its writes belong to."""


def make_server(
    tools: Sequence[Tool],
    *,
    context: ToolContext | ContextOf,
    gate: CallLimiter,
    changes: ChangeBroadcaster,
    instructions: str = INSTRUCTIONS,
    lasting: bool = True,
    beat: float = _BEAT,
) -> "Server[Wire]":
    """A server of these tools. A `lasting` one serves a single connection, and can tell it of changes unasked."""
    counter = _Counter(
        tools={tool.name: tool for tool in tools},
        context=context if callable(context) else lambda _: context,
        gate=gate,
        changes=changes,
        beat=beat,
        fixed={resource.uri: resource for resource in resources_of(tools)},
    )
    server = Server[Wire](
        "scrubjay",
        version=VERSION,
        title="Scrubjay",
        description="Long-term memory for agents",
        instructions=instructions,
        lifespan=lambda _: Wire.open(),
        get_tool_input_schema=counter.schema_of,
        on_list_tools=counter.list_tools,
        on_call_tool=counter.call_tool,
        on_list_resources=counter.list_resources,
        on_list_resource_templates=counter.list_templates,
        on_read_resource=counter.read_resource,
        on_subscribe_resource=counter.subscribe if lasting else None,
        on_unsubscribe_resource=counter.unsubscribe if lasting else None,
        on_subscriptions_listen=counter.listen,
        on_list_prompts=counter.list_prompts,
        on_get_prompt=counter.get_prompt,
        on_completion=counter.complete,
    )
    if lasting:
        server.add_notification_handler("notifications/initialized", NotificationParams, counter.initialized)
    _promise_of_resources_only(server)
    # Nobody here is traced.
    server.middleware.clear()
    return server


@dataclass(frozen=True, slots=True, kw_only=True)
class _Counter:
    """Where requests are answered."""

    tools: Mapping[str, Tool]
    context: ContextOf
    gate: CallLimiter
    changes: ChangeBroadcaster
    beat: float
    fixed: Mapping[str, resources.Fixed]

    def schema_of(self, name: str) -> Mapping[str, Json] | None:
        return self.tools[name].input if name in self.tools else None

    async def list_tools(self, _: Context, params: PaginatedRequestParams | None) -> ListToolsResult:
        first = _first(params.cursor if params else None, most=len(self.tools))
        page = list(self.tools.values())[first : first + _PAGE]
        more = first + _PAGE < len(self.tools)
        return ListToolsResult(tools=[listed(tool) for tool in page], next_cursor=pack(first + _PAGE) if more else None)

    async def call_tool(self, ctx: Context, params: CallToolRequestParams) -> CallToolResult:
        tool = self.tools.get(params.name)
        if tool is None:
            raise MCPError(
                INVALID_PARAMS,
                f"there is no tool {shown(params.name)}. {did_you_mean(params.name, self.tools)}",
                {"nearest": [*nearest(params.name, self.tools)]},
            )
        try:
            return result(await self._call(ctx, tool, params))
        except ScrubjayError as error:
            return result(tool.refuses(error)) if tool.refuses else failure(str(error), error)
        except Exception as error:  # noqa: BLE001 - the edge of the surface: the log gets the trace, the caller a clear answer.
            _log.exception("a tool failed", extra={"fields": {"tool": tool.name}})
            return failure(f"{tool.name} failed: {type(error).__name__}. The daemon's log says more")

    async def list_resources(self, ctx: Context, params: PaginatedRequestParams | None) -> ListResourcesResult:
        cursor = (params.cursor if params else None) or ""
        return await self._read(
            ctx, "resources/list", lambda context: resources.list_resources(context, cursor, fixed=self.fixed)
        )

    async def list_templates(self, _: Context, __: PaginatedRequestParams | None) -> ListResourceTemplatesResult:
        return resources.list_templates()

    async def read_resource(self, ctx: Context, params: ReadResourceRequestParams) -> ReadResourceResult:
        return await self._read(
            ctx,
            "resources/read",
            lambda context: resources.read_resource(context, params.uri, fixed=self.fixed),
            uri=params.uri,
        )

    async def initialized(self, ctx: Context, _: NotificationParams) -> None:
        await ctx.lifespan_context.attach(ctx.session, self.changes, space=self.context(ctx).who.space)

    async def subscribe(self, ctx: Context, params: SubscribeRequestParams) -> EmptyResult:
        found = await self._read(
            ctx,
            "resources/subscribe",
            lambda context: resources.find(context, params.uri, fixed=self.fixed),
            uri=params.uri,
        )
        try:
            ctx.lifespan_context.watch(params.uri, found)
        except ScrubjayError as error:
            raise protocol_error(error) from error
        return EmptyResult()

    async def unsubscribe(self, ctx: Context, params: UnsubscribeRequestParams) -> EmptyResult:
        ctx.lifespan_context.unwatch(params.uri)
        return EmptyResult()

    async def listen(self, ctx: Context, params: SubscriptionsListenRequestParams) -> SubscriptionsListenResult:
        uris = params.notifications.resource_subscriptions or []
        watched = await self._read(
            ctx, "subscriptions/listen", lambda context: resources.find_all(context, uris, fixed=self.fixed)
        )
        try:
            context = self.context(ctx)
            return await listen(
                ctx, params, changes=self.changes, space=context.who.space, watched=watched, holds=context.holds,
                caller=context.grant.id,
            )  # fmt: skip
        except ScrubjayError as error:
            raise protocol_error(error) from error

    async def list_prompts(self, _: Context, __: PaginatedRequestParams | None) -> ListPromptsResult:
        return prompts.list_prompts()

    async def get_prompt(self, ctx: Context, params: GetPromptRequestParams) -> GetPromptResult:
        given = params.arguments or {}
        return await self._read(ctx, "prompts/get", lambda context: prompts.get_prompt(context, params.name, given))

    async def complete(self, ctx: Context, params: CompleteRequestParams) -> CompleteResult:
        return await self._read(
            ctx, "completion/complete", lambda context: completions.complete(context, params.ref, params.argument)
        )

    async def _call(self, ctx: Context, tool: Tool, params: CallToolRequestParams) -> Answer:
        arguments = Checker(tool.input, of=tool.name).check(cast("dict[str, Json]", params.arguments or {}))
        context = self._context_for(ctx)
        (context.grant.require_read if tool.reads else context.grant.require_write)(tool.name)
        try:
            async with self._told(ctx) as progress:
                work = _work(tool, replace(context, progress=progress), arguments)
                return await self.gate.run(tool.name, work, reads=tool.reads)
        finally:
            if not tool.reads:
                self.changes.nudge()

    def _context_for(self, ctx: Context) -> ToolContext:
        """The desk, where what is written belongs to the run that the call names."""
        context = self.context(ctx)
        run = (ctx.meta or {}).get(RUN)
        if run is None:
            return context
        if not isinstance(run, str) or len(run) > _LONGEST_RUN:
            raise InvalidInput(f"_meta {RUN} must be a text of {_LONGEST_RUN} characters at most", field=RUN)
        return replace(context, who=replace(context.who, run=run))

    def _told(self, ctx: Context) -> AbstractAsyncContextManager[Progress | None]:
        if (ctx.meta or {}).get("progress_token") is None:
            return nullcontext()
        return telling(ctx.session.report_progress, beat=self.beat)

    async def _read(self, ctx: Context, verb: str, look: Callable[[ToolContext], Awaitable[T]], **about: str) -> T:
        """Look something up; an error says what it is `about`."""

        async def work() -> T:
            context = self.context(ctx)
            context.grant.require_read(verb)
            return await look(context)

        try:
            return await self.gate.run(verb, work(), reads=True)
        except ScrubjayError as error:
            raise protocol_error(error, **about) from error


def _promise_of_resources_only(server: Server[Wire]) -> None:
    """Tools and prompts stay as they are while a server runs: it does not promise to tell of changes in them."""

    async def discover(ctx: Context, _: RequestParams) -> DiscoverResult:
        able = server.get_capabilities(protocol_version=ctx.protocol_version)
        return DiscoverResult(
            supported_versions=list(MODERN_PROTOCOL_VERSIONS),
            capabilities=able.model_copy(update={"tools": ToolsCapability(), "prompts": PromptsCapability()}),
            instructions=server.instructions,
        )

    server.add_request_handler("server/discover", RequestParams, discover)


async def _work(tool: Tool, context: ToolContext, arguments: Mapping[str, Json]) -> Answer:
    return await tool.call(context, arguments)


def _first(cursor: str | None, *, most: int) -> int:
    """The number of the first tool of a page."""
    if not cursor:
        return 0
    try:
        first = int(unpack(cursor, int)[0])
        if not 0 < first < most:
            raise foreign()
    except InvalidInput as error:
        raise protocol_error(error) from error
    return first
